"""What a recipient can infer from released letters: how often each letter of R occurs.

A recipient holds n letters rhat and may know p(rhat given r), the channel A[r, rhat] of the file.
The letters then follow Σ_r f(r) A[r, rhat], where f(r) are the frequencies of R. That map of f may
be singular: a frugal release need not use every letter. So all questions are put as linear
functionals c·f. The channel determines c·f if and only if c = A w for some weights w of the
letters, and then the mean of w over the letters estimates c·f without bias. What the channel leaves
open gets bounds.
"""

from tacit.estimation.functionals import Contrast, Target
from tacit.estimation.recipient import Estimate, estimate

__all__ = ["Contrast", "Estimate", "Target", "estimate"]
