"""A study over HTTP: the same functions as the command line, as pages and as JSON.

``tacit serve`` starts it. Nothing here decides what may be released: that is ``tacit.study``.
"""
