"""What a result folder of another system holds, as values."""

from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from evaluator.untrusted import cut
from evolve.apps.audit.claims import Claimed
from evolve.core.program import PatchKind
from evolve.core.usage import NOTHING, Usage

MAX_TEXT: Final = 1024 * 1024
"""Characters that are kept of a prompt, an answer or a report."""
MAX_WORDS: Final = 4000
"""Characters that are kept of a description."""
MAX_WORD: Final = 200
"""Characters of an id, a name or a model that are kept."""
MAX_NUMBERS: Final = 500
"""Numbers that are kept of one program."""
MAX_ISLAND: Final = 10**6
MAX_GENERATION: Final = 10**9
_MAX_TOKENS: Final = 10**12
_MAX_USD: Final = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class Ancestry:
    """Where a program came from: `parent` and `inspirations` are ids, which the folder need not hold. `order` sorts
    the programs of a folder by when they came."""

    parent: str | None = None
    inspirations: tuple[str, ...] = ()
    island: int = 0
    order: tuple[int, float] = (0, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """How a program was proposed: the prompt and the answer are empty where the folder does not hold them."""

    kind: PatchKind = PatchKind.DIFF
    description: str = ""
    model: str = ""
    prompt: str = ""
    answer: str = ""
    usage: Usage = NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultProgram:
    """One program of a result folder: what is claimed of it, where it came from, and how it was proposed."""

    claimed: Claimed
    ancestry: Ancestry = Ancestry()
    proposed: Proposed = Proposed()

    @property
    def id(self) -> str:
        """Its id, unique in its folder."""
        return self.claimed.id

    def noted(self, *notes: str) -> "ResultProgram":
        """The same program with further notes."""
        return replace(self, claimed=replace(self.claimed, notes=(*self.claimed.notes, *notes)))

    def renamed(self, id_: str) -> "ResultProgram":
        """The same program under another id."""
        return replace(self, claimed=replace(self.claimed, id=id_))


def unused(id_: str, used: Container[str]) -> str:
    """The id, with a number behind it where it is used already. A few look-ups find it: ids may all be the same."""
    if id_ not in used:
        return id_
    low, high = 1, 2
    while f"{id_} ({high})" in used:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if f"{id_} ({middle})" in used else (low, middle)
    return f"{id_} ({high})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A report that the other system wrote about its run, when it had `programs` programs."""

    programs: int
    name: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultFolder:
    """A result folder: its programs with parents first, its reports, and sentences about what was not read."""

    folder: Path
    system: str
    programs: tuple[ResultProgram, ...]
    reports: tuple[Report, ...] = ()
    notes: tuple[str, ...] = ()


# -- values of somebody else's documents -----------------------------------------------------------------------------


def word(value: object, default: str = "", most: int = MAX_WORD) -> str:
    """A text of at most about `most` characters; the default for anything else."""
    return cut(value, most) if isinstance(value, str) else default


def known_id(value: object) -> str | None:
    """An id; None for anything but a text with a character."""
    return word(value) or None


def number(value: object) -> float | None:
    """A number, NaN and infinities among them; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def whole(value: object, most: int) -> int:
    """A whole number from 0 to `most`; 0 for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most else 0


def truth(value: object) -> bool | None:
    """True or false, also as 1 or 0; None for anything else."""
    return bool(value) if isinstance(value, bool | int) and value in (0, 1) else None


def mapping(value: object) -> Mapping[str, Any]:
    """A mapping; empty for anything else."""
    return value if isinstance(value, Mapping) else {}


def ids(value: object) -> list[str]:
    """The ids in a list; empty for anything else."""
    return [item for item in map(known_id, value[:MAX_NUMBERS]) if item] if isinstance(value, list) else []


def numbers(*groups: object) -> dict[str, float]:
    """The numbers of several mappings by name; the first one of a name counts."""
    kept: dict[str, float] = {}
    for group in groups:
        for name, value in mapping(group).items():
            if (read := number(value)) is not None and len(kept) < MAX_NUMBERS:
                kept.setdefault(word(name), read)
    return kept


def usage(tokens_in: object, tokens_out: object, cost_usd: object) -> Usage:
    """The cost of a call as far as it is stated: unknown tokens are 0 and marked as an estimate."""
    cost = number(cost_usd)
    return Usage(
        tokens_in=whole(tokens_in, _MAX_TOKENS),
        tokens_out=whole(tokens_out, _MAX_TOKENS),
        cost_usd=cost if cost is not None and 0 <= cost <= _MAX_USD else None,
        estimated=not (whole(tokens_in, _MAX_TOKENS) or whole(tokens_out, _MAX_TOKENS)),
    )
