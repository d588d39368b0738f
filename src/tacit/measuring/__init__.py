"""What files that are out already tell about people, whatever tool made them."""

from tacit.measuring.measure import Coalition, Measured, Over, measure
from tacit.measuring.picture import measured_figure

__all__ = ["Coalition", "Measured", "Over", "measure", "measured_figure"]
