"""Speed and precision of tacit beside other ways to solve the same problems, in one process.

``python -m benchmarks`` runs everything; see docs/explanation/benchmarks.md.
"""
