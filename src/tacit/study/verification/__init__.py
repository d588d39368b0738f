"""Proving, without the solver, that a study kept its promises."""
