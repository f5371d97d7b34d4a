"""Programs as values: where they may evolve, whether they are usable, and when two of them are the same."""

from dataclasses import dataclass
from enum import StrEnum


class PatchKind(StrEnum):
    """How a program came to be."""

    INITIAL = "initial"
    DIFF = "diff"
    FULL = "full"
    CROSS = "cross"
    FIX = "fix"
    TUNE = "tune"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a program comes from: the kind of patch, who wrote it, its name and its reason (both untrusted text)."""

    kind: PatchKind
    model: str
    patch_name: str
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """One program of a run. `parents` are the commits of its parents, the first one being the patched one."""

    commit: str
    generation: int
    source: str
    parents: tuple[str, ...]
    island: int
    origin: Origin
