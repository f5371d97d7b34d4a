"""The layers that confine a candidate, and the levels that they make. Plain values, used on both sides."""

from collections.abc import Collection
from typing import Final

LIMITS: Final = "limits"
PRIVILEGES: Final = "privileges"
LANDLOCK: Final = "landlock"
SECCOMP: Final = "seccomp"
BUBBLEWRAP: Final = "bubblewrap"
OF_CANDIDATE: Final = (LIMITS, PRIVILEGES, LANDLOCK, SECCOMP)
"""The layers that a candidate's process puts on by itself, in this order; bubblewrap is around its worker."""

NONE: Final = "none"
STANDARD: Final = "standard"
STRONG: Final = "strong"
LEVELS: Final = (NONE, STANDARD, STRONG)
"""Weakest first."""


def level_of(active: Collection[str]) -> str:
    """The level of working layers. Landlock is an addition and decides no level."""
    if not {LIMITS, PRIVILEGES, SECCOMP} <= set(active):
        return NONE
    return STRONG if BUBBLEWRAP in active else STANDARD
