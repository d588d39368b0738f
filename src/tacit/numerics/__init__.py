"""Special functions, linear programs, least squares, descent, roots and clusters.

What tacit needs of numerical mathematics beyond NumPy; the linear programs are solved by HiGHS.
"""
