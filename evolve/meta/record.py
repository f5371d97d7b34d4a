"""What of the record a quoted number is held against: measured values, at the precision at which they are quoted."""

import ast
import re
from bisect import bisect_left
from collections.abc import Iterable
from math import isfinite
from statistics import median

from evolve.meta.evidence import TABLE_FEATURES, Evidence
from evolve.meta.facts import Fact

_EPS = 1e-9


class Record:
    """The numbers that a document may quote.

    Everything in the evidence and its table, and the decimals in the evaluator's feedback on the correct programs
    of `new` (a failing one's feedback may carry the candidate's own words). `literals` are the decimal constants in
    the sources of `new`: a text may speak of them without claiming a measurement.
    """

    def __init__(self, evidence: Evidence, new: Iterable[Fact] = ()) -> None:
        facts = list(new)
        self.evidence = evidence
        self.literals: frozenset[float] = frozenset().union(*(_literals(fact.source) for fact in facts))
        extra = [float(text) for fact in facts if fact.correct for text in re.findall(r"\d+\.\d+", fact.feedback)]
        for groups in (evidence.by_kind, evidence.by_feature, evidence.by_model):
            shown = evidence.most_tried(groups, TABLE_FEATURES)
            extra += [abs(group.mean) for group in shown if group.mean is not None]
        if evidence.scores:
            extra.append(
                median(f.combined_score for f in evidence.facts.values() if f.correct and f.combined_score is not None)
            )
        if evidence.programs:
            extra.append(evidence.correct / evidence.programs)
        self._extra = sorted(extra)
        self.failed_names = _failed_names(evidence)

    @property
    def scale(self) -> float | None:
        """Decimals from here up look like scores: half the lowest correct one. None where scores are too small."""
        scores = self.evidence.scores
        return scores[0] / 2 if scores and scores[0] >= 4 else None

    def holds(self, value: float, decimals: int) -> bool:
        """Whether a measured value, rounded to so many decimals, reads as `value`."""
        half = 0.5 * 10.0**-decimals + _EPS
        return _near(self.evidence.measured, value, half) or _near(self._extra, value, half)

    def holds_percentage(self, value: float, decimals: int) -> bool:
        """Whether `value` percent is a measured share."""
        return self.holds(value / 100, decimals + 2)

    def holds_difference(self, value: float, decimals: int) -> bool:
        """Whether two recorded scores differ by `value`, give or take its last digit: both may be rounded."""
        unit = 10.0**-decimals + _EPS
        return any(_near(self.evidence.scores, score + value, unit) for score in self.evidence.scores)


def _failed_names(evidence: Evidence) -> dict[str, int]:
    """The patch names that tell one failed generation: of two words or more, and borne by no correct program."""
    found: dict[str, int] = {}
    for generations in (*evidence.outcomes.values(), *evidence.refusals.values()):
        for generation in generations:
            name = evidence.facts[generation].patch_name
            if re.fullmatch(r"\w+_\w+", name):
                found.setdefault(name, generation)
    good = {fact.patch_name for fact in evidence.facts.values() if fact.correct}
    return {name: generation for name, generation in found.items() if name not in good}


def numbers_of(fact: Fact) -> list[float]:
    """What the record says of one program, as magnitudes. The score of a quarantined one is none of it."""
    if fact.quarantine is not None:
        return []
    found = [fact.combined_score, fact.ceiling, fact.gap, fact.change, *fact.metrics.values()]
    return [abs(float(number)) for number in found if number is not None]


def says(numbers: Iterable[float], value: float, decimals: int) -> bool:
    """Whether one of `numbers`, rounded to so many decimals, reads as `value`."""
    half = 0.5 * 10.0**-decimals + _EPS
    return any(abs(number - value) <= half for number in numbers)


def _near(values: list[float], value: float, tolerance: float) -> bool:
    position = bisect_left(values, value - tolerance)
    return position < len(values) and values[position] <= value + tolerance


def _literals(source: str) -> frozenset[float]:
    """The floating-point constants of a program; none of a text that is no program."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    found = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return frozenset(value for value in found if isinstance(value, float) and isfinite(value))
