"""The paper's alternating updates."""
