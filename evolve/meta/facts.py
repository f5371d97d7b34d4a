"""What the meta-summarizer knows of one generation: plain values, none of which a clock measured."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from evaluator.evaluation import Outcome
from evaluator.untrusted import one_line
from evolve.archive.records import AttemptRecord, GenerationRecord, ProgramRecord, Status
from evolve.program import PatchKind

CLOCKS = frozenset({"runtime_s", "peak_memory_mb"})
"""Metrics that a second run would measure differently. They reach no document and no prompt of this package."""

CEILING_TOLERANCE = 1e-6
"""A score this close to its ceiling has reached it."""

# Words of a patch name that say nothing about what the patch does.
_EMPTY_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
    a add added an and based better by change changed code diff edit enhanced fix fixed for from full func
    function implement improve improved improvement improvements improving in initial insert into introduce it
    make method more my new of on optimised optimized or patch program remove replace simple small the to tune
    tuned tuning update updated use used using v with
        """,
    )
)


def features_of(patch_name: str, vocabulary: Sequence[str] = ()) -> tuple[str, ...]:
    """What a patch is about, by its name, in the order of the name and without doubles.

    For each part of the name (parts are joined by `and`): `raise x` or `lower x` of a constant (nothing for one without
    a name); of the names of `vocabulary` (say, a task's operators) in it the first, as `without x` when it is removed
    and `replace x y` when another takes its place; `take x` of what else is carried over from another program; where
    there is none of these, the words that say something. What merely comes along (`add_x_with_y`) is left out.
    """
    words = [word for word in re.split(r"[^a-z0-9]+", patch_name[:400].lower()) if word]
    found: list[str] = []
    for part in "_".join(words).split("_and_"):
        verb, _, rest = part.partition("_")
        named = _named(part, vocabulary)
        if verb in ("raise", "lower") and rest:
            found += [] if rest == "number" else [f"{verb} {rest}"]
        elif verb == "replace" and len(named) > 1:
            found.append(f"replace {named[0]} {named[1]}")
        elif named:
            found.append(f"without {named[0]}" if verb in ("remove", "drop", "delete") else named[0])
        elif verb == "take" and rest:
            found.append(f"take {rest}")
        else:
            found += [
                w for w in part.split("_") if len(w) > 1 and w not in _EMPTY_WORDS and not re.fullmatch(r"v?\d+", w)
            ]
    return tuple(dict.fromkeys(found))


def _named(part: str, vocabulary: Sequence[str]) -> list[str]:
    """The names of the vocabulary in a part of a patch name, in its order; a longer name hides those within it."""
    spelt = f"_{part}_"
    found: list[tuple[int, str]] = []
    for entry in sorted(vocabulary, key=lambda name: (-len(name), name)):
        position = spelt.find(f"_{entry.lower()}_")
        if position >= 0:
            found.append((position, entry))
            spelt = spelt.replace(f"_{entry.lower()}_", "_" + " " * len(entry) + "_", 1)
    return [entry for _, entry in sorted(found)]


def in_short(detail: str) -> str:
    """The detail of an evaluation as one line: of a traceback, where it ended and the error."""
    return "; ".join(line.strip() for line in detail.strip().splitlines()[-3:])


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One generation: a program with its verdict, or a proposal that became none (`status` and `reason` say how).

    Texts (names, descriptions, details) are as a model or a candidate wrote them. `source` and `feedback` are
    needed of the programs of the next document only.
    """

    generation: int
    status: Status
    kind: PatchKind
    model: str
    patch_name: str = ""
    description: str = ""
    features: tuple[str, ...] = ()
    outcome: Outcome | None = None
    detail: str = ""
    correct: bool = False
    quarantine: str | None = None
    combined_score: float | None = None
    ceiling: float | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    parent_generation: int | None = None
    parent_score: float | None = None
    parent_correct: bool = False
    source: str = ""
    feedback: str = ""
    reason: str = ""

    @classmethod
    def of_program(
        cls,
        record: ProgramRecord,
        parent: ProgramRecord | None,
        *,
        detail: str = "",
        source: str = "",
        feedback: str = "",
        vocabulary: Sequence[str] = (),
    ) -> Self:
        """The fact of a recorded program; `parent` is the one that was patched, None for the initial program."""
        return cls(
            generation=record.generation,
            status=Status.EVALUATED,
            kind=record.origin.kind,
            model=record.origin.model,
            patch_name=record.origin.patch_name,
            description=record.origin.description,
            features=() if parent is None else features_of(record.origin.patch_name, vocabulary),
            outcome=record.outcome,
            detail=detail,
            correct=record.correct,
            quarantine=record.quarantine,
            combined_score=record.combined_score,
            ceiling=record.ceiling,
            metrics={name: value for name, value in record.metrics.items() if name not in CLOCKS},
            parent_generation=None if parent is None else parent.generation,
            parent_score=None if parent is None else parent.combined_score,
            parent_correct=parent is not None and parent.correct,
            source=source,
            feedback=feedback,
        )

    @classmethod
    def without_program(cls, record: GenerationRecord, last: AttemptRecord | None, *, patch_name: str = "") -> Self:
        """The fact of a generation that ended without a program; `last` is its last attempt, if there was one."""
        return cls(
            generation=record.generation,
            status=record.status,
            kind=PatchKind(record.kind),
            model=record.model,
            patch_name=patch_name,
            reason="" if last is None else last.reason or "",
            detail="" if last is None else last.message or "",
        )

    @property
    def is_program(self) -> bool:
        """Whether the generation became a program."""
        return self.status is Status.EVALUATED

    @property
    def change(self) -> float | None:
        """How much its score differs from its parent's; None unless both are correct programs."""
        if not (self.correct and self.parent_correct) or self.combined_score is None or self.parent_score is None:
            return None
        return self.combined_score - self.parent_score

    @property
    def repairs(self) -> bool:
        """Whether a correct program was made of one that was not."""
        return self.correct and self.parent_generation is not None and not self.parent_correct

    @property
    def gap(self) -> float | None:
        """How far below the ceiling the score stands; None without a ceiling or without a correct program."""
        if not self.correct or self.ceiling is None or self.combined_score is None:
            return None
        return self.ceiling - self.combined_score

    @property
    def at_ceiling(self) -> bool:
        """Whether a correct program's score is the ceiling."""
        return self.gap is not None and self.gap <= CEILING_TOLERANCE

    @property
    def failure(self) -> str:
        """What went wrong, in one line for a reader; empty for a correct program."""
        if self.correct:
            return ""
        if self.quarantine is not None:
            return f"quarantined: {one_line(self.quarantine, 160)}"
        if self.is_program:
            name = "not correct" if self.outcome is None else self.outcome.value
            return f"{name}: {one_line(in_short(self.detail), 160)}" if self.detail else name
        return f"{self.status.value} ({one_line(self.reason, 60)})" if self.reason else self.status.value
