"""A picture of what files tell: people by how right one is about them, before and after."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tacit.errors import InvalidInputError
from tacit.measuring.measure import Measured
from tacit.plots import tradeoff_curves_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def measured_figure(found: Measured, title: str = "", *, path: str | Path | None = None) -> Figure:
    """One line for each coalition, over that of the known columns alone."""
    most = max(found.coalitions, key=lambda each: each.people)
    if most.right_before is None:
        raise InvalidInputError("there is nothing to draw without a learner: measure with one")
    curves = {"known columns alone": most.right_before} | {
        each.whom: each.right for each in found.coalitions if each.right is not None
    }
    of_people = np.linspace(100, 0, len(most.right_before))
    lines = {name: np.stack([of_people, curve], axis=-1) for name, curve in curves.items()}
    labels = ("of 100 people, those one is most right about", "probability of their true level")
    shown = title or f"{found.secret}: how right somebody with the files is"
    return tradeoff_curves_figure({"": lines}, labels, shown, path=path)
