"""Short lives of studies, the same every time; ``make redteam`` has long ones, always others."""

from __future__ import annotations

from tests.redteam.lives import LENGTHS, Life

TestLives = Life.TestCase
TestLives.settings = LENGTHS
