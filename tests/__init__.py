"""The tests of tacit. Hypothesis runs the same examples every time: no seeds, no reruns."""

from hypothesis import settings

# derandomize: a failure is the code's, not the draw's. No deadline: the machine may be busy.
settings.register_profile("tacit", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("tacit")
