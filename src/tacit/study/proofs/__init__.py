"""Proofs, without the solver, of what recorded releases leak and how near to the best they are."""
