"""What a recipient can infer from released letters: frequencies, cross-tables, regressions.

A recipient holds n letters rhat and may know p(rhat given r), the channel A[r, rhat] of the file.
The letters then follow Σ_r f(r) A[r, rhat], where f(r) are the frequencies of R. That map of f may
be singular: a frugal release need not use every letter. So all questions about frequencies are put
as linear functionals c·f. The channel determines c·f if and only if c = A w for some weights w of
the letters, and then the mean of w over the letters estimates c·f without bias. What the channel
leaves open gets bounds.

Where the release reads only r (an analysable one), the same holds in every subgroup, and A is all
that cross-tables, regressions and imputations need (``NoisyColumn``).
"""

from tacit.estimation.column import NoisyColumn, add_weights
from tacit.estimation.crosstab import Cell, CrossTable, OddsRatio, crosstab
from tacit.estimation.functionals import Contrast, Target
from tacit.estimation.imputation import Pooled, impute, pool
from tacit.estimation.recipient import Estimate, estimate
from tacit.estimation.regression import Regression, fit_linear, fit_logistic

__all__ = [
    "Cell",
    "Contrast",
    "CrossTable",
    "Estimate",
    "NoisyColumn",
    "OddsRatio",
    "Pooled",
    "Regression",
    "Target",
    "add_weights",
    "crosstab",
    "estimate",
    "fit_linear",
    "fit_logistic",
    "impute",
    "pool",
]
