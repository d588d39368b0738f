"""Attacks on tacit that were once found to work, kept so that they do not work again."""
