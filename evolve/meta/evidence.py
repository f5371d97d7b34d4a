"""What code counts over the generations of a run: the numbers that every sentence of a document rests on."""

import re
from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import fsum
from statistics import median

from evaluator.untrusted import one_line
from evolve.archive.records import Status
from evolve.meta.facts import Fact
from evolve.program import PatchKind

SAME = 1e-9
"""Two scores that differ by no more than this are equal."""

TABLE_FEATURES = 12
"""So many features are shown in the table for the prompts: the most tried ones."""

CITED = 6
"""So many generations are named where a list of them is cited; the rest are counted."""


@dataclass(slots=True, kw_only=True)
class Group:
    """The programs that have something in common, and how their scores differ from their parents'.

    Only a correct program with a correct parent is compared. Lists hold generations, in recorded order.
    """

    name: str
    programs: int = 0
    correct: int = 0
    changes: list[float] = field(default_factory=list)
    gained: list[int] = field(default_factory=list)
    lost: list[int] = field(default_factory=list)
    same: list[int] = field(default_factory=list)
    failed: list[int] = field(default_factory=list)
    repaired: list[int] = field(default_factory=list)
    best: tuple[float, int] | None = None  # the largest change, and its generation
    worst: tuple[float, int] | None = None  # the smallest

    def add(self, fact: Fact) -> None:
        """Count a program."""
        self.programs += 1
        if not fact.correct:
            self.failed.append(fact.generation)
            return
        self.correct += 1
        if fact.repairs:
            self.repaired.append(fact.generation)
        change = fact.change
        if change is None:
            return
        self.changes.append(change)
        (self.gained if change > SAME else self.lost if change < -SAME else self.same).append(fact.generation)
        if self.best is None or change > self.best[0] + SAME:
            self.best = change, fact.generation
        if self.worst is None or change < self.worst[0] - SAME:
            self.worst = change, fact.generation

    @property
    def compared(self) -> int:
        """How many of them have a score change."""
        return len(self.changes)

    @property
    def mean(self) -> float | None:
        """The mean score change; None where nothing could be compared."""
        return fsum(self.changes) / len(self.changes) if self.changes else None


class Evidence:
    """Everything counted so far, growing by one generation at a time; the same facts in the same order give the same.

    The work per generation does not grow with the run (but for a shift in one sorted list of floats).
    """

    def __init__(self, facts: Iterable[Fact] = ()) -> None:
        self.facts: dict[int, Fact] = {}
        self.by_kind: dict[str, Group] = {}
        self.by_feature: dict[str, Group] = {}
        self.by_model: dict[str, Group] = {}
        self.statuses: dict[Status, int] = {}
        self.outcomes: dict[str, list[int]] = {}  # of programs that are not correct
        self.refusals: dict[str, list[int]] = {}  # of generations without a program, by status and reason
        self.records: list[int] = []  # generations whose correct program was better than all before
        self.moved: set[str] = set()  # constants that were raised or lowered, and words of tuning patches; lower case
        self.best: Fact | None = None
        self.scores: list[float] = []  # of correct programs, sorted, without doubles
        self.measured: list[float] = []  # every score, metric, ceiling, gap and change, the same way
        for fact in facts:
            self.add(fact)

    def add(self, fact: Fact) -> None:
        """Take in a finished generation. Raises ValueError when it is known already or has not ended."""
        if fact.generation in self.facts:
            raise ValueError(f"generation {fact.generation} has been counted already")
        if fact.status in (Status.ASKED, Status.ANSWERED):
            raise ValueError(f"generation {fact.generation} has not ended (status {fact.status.value})")
        # The bulky texts are needed of new programs only; keeping them would hold a run's sources in memory.
        self.facts[fact.generation] = replace(fact, source="", feedback="")
        self.statuses[fact.status] = self.statuses.get(fact.status, 0) + 1
        if not fact.is_program:
            key = fact.status.value
            if fact.reason and fact.reason != key:
                key += f": {one_line(fact.reason, 40)}"
            self.refusals.setdefault(key, []).append(fact.generation)
            return
        if not fact.correct:
            name = "quarantined" if fact.quarantine is not None else fact.outcome.value if fact.outcome else "failed"
            self.outcomes.setdefault(name, []).append(fact.generation)
        if fact.parent_generation is not None:
            for name, groups in (
                (fact.kind.value, self.by_kind),
                (fact.model, self.by_model),
                *((feature, self.by_feature) for feature in fact.features),
            ):
                groups.setdefault(name, Group(name=name)).add(fact)
            self.moved.update(f.split(" ", 1)[1] for f in fact.features if f.startswith(("raise ", "lower ")))
            if fact.kind is PatchKind.TUNE:
                self.moved.update(re.findall(r"\w+", f"{fact.patch_name} {fact.description}"[:2000].lower()))
        self._measure(fact)

    def _measure(self, fact: Fact) -> None:
        """Note what the record says in numbers, the best program among them. A quarantined score is none of them."""
        if fact.quarantine is not None:
            return
        numbers = [fact.combined_score, fact.ceiling, fact.gap, fact.change, *fact.metrics.values()]
        for number in numbers:
            if number is not None:
                _insert(self.measured, abs(float(number)))
        if not fact.correct or fact.combined_score is None:
            return
        _insert(self.scores, fact.combined_score)
        best = None if self.best is None else self.best.combined_score
        if best is None or fact.combined_score > best + SAME:
            self.records.append(fact.generation)
            self.best = self.facts[fact.generation]
        elif self.best is not None and fact.combined_score >= best - SAME and fact.generation < self.best.generation:
            self.best = self.facts[fact.generation]  # ties go to the earlier generation, whichever ended first

    @property
    def ceiling(self) -> float | None:
        """The ceiling, as stated with the best program; None without."""
        return None if self.best is None else self.best.ceiling

    @property
    def programs(self) -> int:
        """How many generations became programs."""
        return self.statuses.get(Status.EVALUATED, 0)

    @property
    def correct(self) -> int:
        """How many programs are correct."""
        return self.programs - sum(map(len, self.outcomes.values()))

    @property
    def gained(self) -> int:
        """How many programs are better than their parent."""
        return sum(len(group.gained) for group in self.by_kind.values())

    def chain(self, fact: Fact | None = None) -> tuple[Fact, ...]:
        """The line of first parents that ends in `fact` (None: the best program), oldest first."""
        fact = self.best if fact is None else fact
        line: list[Fact] = []
        while fact is not None:  # a parent is recorded before its child, so this ends
            line.append(fact)
            fact = None if fact.parent_generation is None else self.facts.get(fact.parent_generation)
        return tuple(reversed(line))

    def most_tried(self, groups: Mapping[str, Group], limit: int) -> list[Group]:
        """At most `limit` groups, the ones with most programs first; ties by name."""
        return sorted(groups.values(), key=lambda group: (-group.programs, group.name))[:limit]

    def table(self) -> str:
        """All of it as compact Markdown, for the prompts of the summarizer."""
        parts = [self._funnel()]
        if self.best is not None:
            parts += [f"Best: {self._best_line()}", f"Best chain: {' -> '.join(map(_step, self.chain()))}"]
            scores = [
                fact.combined_score for fact in self.facts.values() if fact.correct and fact.combined_score is not None
            ]
            parts.append(
                f"Scores of the {len(scores)} correct programs: lowest {score_text(min(scores))}, "
                f"median {score_text(median(scores))}, highest {score_text(max(scores))}."
            )
        for title, groups in (
            ("patch kind", self.by_kind),
            ("feature of the patch name", self.by_feature),
            ("model", self.by_model),
        ):
            shown = self.most_tried(groups, TABLE_FEATURES)
            if shown:
                parts.append(_rows(title, shown, len(groups)))
        if self.outcomes or self.refusals:
            lines = [f"- {name}: {cite(found)}" for name, found in (*self.outcomes.items(), *self.refusals.items())]
            parts.append("Unsuccessful generations:\n" + "\n".join(lines))
        return "\n\n".join(parts)

    def _funnel(self) -> str:
        ended = [f"{count} {status.value}" for status, count in sorted(self.statuses.items())]
        return (
            f"Generations: {len(self.facts)} ({', '.join(ended) or 'none'}). Programs: {self.programs}, of which "
            f"{self.correct} correct, {self.gained} better than their parent, {len(self.records)} the best when they "
            "came."
        )

    def _best_line(self) -> str:
        best = self.best
        if best is None or best.combined_score is None:
            return "no correct program yet"
        return f"generation {best.generation} ({_name(best.patch_name)}), score {best.combined_score!r}{gap_text(best)}"


def warning(evidence: Evidence) -> str:
    """What a reader must know before anything else: quarantined programs and the last one's reason; else empty."""
    found = evidence.outcomes.get("quarantined", [])
    if not found:
        return ""
    why = one_line(evidence.facts[found[-1]].quarantine or "", 300)
    are = "is" if len(found) == 1 else "are"
    return (
        f"{cite(found)} {are} quarantined: the evaluator or the task has a hole, to be mended before any score here is "
        f"believed. The last reason: {why}"
    )


def _insert(values: list[float], value: float) -> None:
    position = bisect_left(values, value)
    if position == len(values) or values[position] != value:
        insort(values, value)


def _name(text: str) -> str:
    return one_line(text, 60).replace("|", "/").replace("`", "'")


def _step(fact: Fact) -> str:
    change = "" if fact.change is None else f", {change_text(fact.change)}"
    score = "no score" if fact.combined_score is None else score_text(fact.combined_score)
    return f"{fact.generation} {_name(fact.patch_name)} ({score}{change})"


def _rows(title: str, groups: list[Group], total: int) -> str:
    head = (
        f"| {title} | programs | correct | compared | gained | lost | same | mean change | best change (generation) |"
    )
    lines = [head, "|---" * 9 + "|"]
    for group in groups:
        mean = "" if group.mean is None else change_text(group.mean)
        best = "" if group.best is None else f"{change_text(group.best[0])} ({group.best[1]})"
        lines.append(
            f"| {_name(group.name)} | {group.programs} | {group.correct} | {group.compared} | {len(group.gained)} | "
            f"{len(group.lost)} | {len(group.same)} | {mean} | {best} |"
        )
    if total > len(groups):
        lines.append(f"({total - len(groups)} rarer ones are not shown.)")
    return "\n".join(lines)


def score_text(score: float) -> str:
    """A score as documents quote it: six decimals, as everywhere."""
    return f"{score:.6f}"


def change_text(change: float) -> str:
    """A difference of scores, signed; a small one keeps two digits that count, so that no gain reads as +0.000000."""
    if abs(change) <= SAME:
        return "0"
    return f"{change:+.6f}" if abs(change) >= 0.000001 else f"{change:+.1e}"


def gap_text(fact: Fact) -> str:
    """How a program stands to its ceiling, as the end of a phrase; empty without a ceiling."""
    if fact.gap is None or fact.ceiling is None:
        return ""
    if fact.at_ceiling:
        return f", at the ceiling of {score_text(fact.ceiling)}"
    return f", {change_text(fact.gap).lstrip('+')} below the ceiling of {score_text(fact.ceiling)}"


def cite(generations: Iterable[int]) -> str:
    """`generation 4`, `generations 4, 5 and 9`, or the first few and how many more."""
    found = list(generations)
    if len(found) == 1:
        return f"generation {found[0]}"
    shown = [str(generation) for generation in found[:CITED]]
    if len(found) > CITED:
        return f"generations {', '.join(shown)} and {len(found) - CITED} more"
    return f"generations {', '.join(shown[:-1])} and {shown[-1]}"
