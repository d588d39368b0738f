"""The paper's tables and figures, one module each, and its claims, tested.

[TVC] is Taylor, Vippathalla and Coon, *Adaptive Privacy of Sequential Data Releases Under
Collusion*, arXiv:2601.21859. ``python -m tacit.paper --out DIR`` makes all of it.
"""
