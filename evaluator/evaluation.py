"""What an evaluation says: one outcome, one verdict per instance, metrics. Plain frozen values."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Any, Final, Self

from evaluator.input_files import read_as
from evaluator.objective import COMBINED, SCORE_ITSELF, BestKnown, Objective

FARTHEST: Final = 1e100
"""No cost, score or metric lies farther from 0: so differences, sums and squares of a whole run stay numbers."""
LEAST_SPREAD: Final = 0.02
"""The least half-width of the spread of a score that a clock measured, relative to the score."""


class Outcome(StrEnum):
    """How a candidate, or one of its instances, ended. Exactly one each."""

    OK = "ok"
    LOAD_ERROR = "load_error"  # the source does not load, or lacks the entry point
    EXCEPTION = "exception"
    TIMEOUT = "timeout"  # wall time, the backstop
    CPU_LIMIT = "cpu_limit"
    OOM = "oom"
    CRASH = "crash"  # killed by a signal that it caused itself, or it takes its worker down each time
    EXITED = "exited"
    FORBIDDEN = "forbidden"  # killed for a system call that no honest program makes
    OUTPUT_LIMIT = "output_limit"
    PROTOCOL = "protocol"  # its reply was not a reply
    INVALID_OUTPUT = "invalid_output"  # a reply that is no answer to the instance
    INFEASIBLE = "infeasible"  # an answer that breaks a constraint
    NONDETERMINISTIC = "nondeterministic"  # it answers, but not the same however it is asked
    NOT_RUN = "not_run"  # an instance after the candidate had died; counts as failed


OF_THE_MOMENT: Final = frozenset({Outcome.TIMEOUT, Outcome.CPU_LIMIT, Outcome.OOM})
"""What says as much about the moment and the machine as about the program."""


def exceeds(score: float, ceiling: float | None) -> bool:
    """Whether a score lies above its ceiling, by more than rounding explains: then something has a hole."""
    return ceiling is not None and score - ceiling > 1e-8 * max(1.0, abs(ceiling))


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What became of one answer. `cost` is what the judge returned, exact, better as the task says
    (`Objective.per_instance`), and None unless the outcome is ok."""

    outcome: Outcome
    cost: Fraction | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What is said of a program over a whole suite. Larger scores are better.

    `score` ranks; `published_score` is what a benchmark's own formula would have said, and ranks nothing: None where
    there is none.
    """

    score: float
    published_score: float | None
    metrics: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceResult:
    """One instance: its index in the suite, how it ended, its exact cost, and time measured from outside."""

    instance: int
    outcome: Outcome
    cost: Fraction | None
    detail: str = ""
    cpu_s: float = 0.0
    wall_s: float = 0.0

    @property
    def exact_result(self) -> "tuple[Outcome, Fraction | None]":
        """What a second evaluation must find again (everything that no clock measured and no text phrased)."""
        return self.outcome, self.cost


class Classification(StrEnum):
    """Why a program does not answer the same however it is asked."""

    NONDETERMINISTIC = "nondeterministic"  # also: a clock, the system's randomness, memory addresses
    HASH_ORDER = "hash_order"  # the order of a set of strings
    STATE = "state_across_instances"
    NAMES = "depends_on_names"
    INCONCLUSIVE = "inconclusive"  # it met a limit in one way of asking and not in the other


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """One instance on which a program does not answer as it did before. `how` says what was different in asking."""

    instance: int
    how: str
    ordinary: tuple[Outcome, Fraction | None]
    found: tuple[Outcome, Fraction | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderRange:
    """What a program scores (`combined_score`) in `n` other orders of its instances: the median (of an even number the
    lower one in the middle), the lowest and the highest. None is an order in which it fails: worse than any score."""

    median: float | None
    low: float | None
    high: float | None
    n: int

    @classmethod
    def of(cls, scores: Sequence[float | None]) -> Self | None:
        """The range of these scores; None of no score."""
        ranked = sorted(scores, key=lambda score: -math.inf if score is None else score)
        if not ranked:
            return None
        return cls(median=ranked[(len(ranked) - 1) // 2], low=ranked[0], high=ranked[-1], n=len(ranked))

    def shown(self, scale: Objective) -> tuple[str, str, str]:
        """The two ends and the median as people and models read them, the smaller value first."""
        ends = (self.low, self.high)[:: scale.direction.sign]
        low, high, median = (
            "failed" if score is None else scale.amount(scale.direction.sign * score) for score in (*ends, self.median)
        )
        return low, high, median


@dataclass(frozen=True, slots=True, kw_only=True)
class StrictReport:
    """What strict re-evaluation found: whether a program answers the same however it is asked.

    `classification` is None when it does. `differences` are the first instances that disagree. `skipped` names the
    checks that the task has no hook for. `confirmed` is what a program that stays correct scores in other orders; None
    where the task's judge has no `permuted`. It is never held against the program's correctness.
    """

    agrees: bool
    classification: Classification | None = None
    detail: str = ""
    differences: tuple[Disagreement, ...] = ()
    skipped: tuple[str, ...] = ()
    confirmed: OrderRange | None = None

    def to_json(self) -> dict[str, Any]:
        """The record of this report; nothing in it was measured by a clock."""
        return {
            "agrees": self.agrees,
            "classification": None if self.classification is None else self.classification.value,
            "detail": self.detail,
            "differences": [
                [d.instance, d.how, *_side_to_json(d.ordinary), *_side_to_json(d.found)] for d in self.differences
            ],
            "skipped": list(self.skipped),
            "confirmed": None if self.confirmed is None else asdict(self.confirmed),
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> "StrictReport":
        """The inverse of `to_json`. Raises KeyError, ValueError or TypeError on a record of another shape."""
        differences = [
            {"instance": instance, "how": how, "ordinary": (outcome, cost), "found": (other, other_cost)}
            for instance, how, outcome, cost, other, other_cost in record["differences"]
        ]
        return read_as(cls, dict(record) | {"differences": differences})


def _side_to_json(side: tuple[Outcome, Fraction | None]) -> list[str | None]:
    outcome, cost = side
    return [outcome.value, None if cost is None else str(cost)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The verdict on one program over one suite. `quarantine` says why its score cannot be believed, if so.

    `self_judged`: the program shares the process that made its score, so that it had a hand in it. `private` (any JSON)
    is what its script says besides; it is recorded and shown, and reaches no prompt and no meta document.

    `strict` is what strict re-evaluation found, None when the program was not examined. `beyond` says of a correct
    program which listed values it is better than, where it is better than every one. `answers` (JSON, one per
    instance, as the judge takes them) are there when the program was examined and is correct, and they could be kept:
    see `evaluator.certificate`.
    """

    task: str
    suite: str
    outcome: Outcome
    detail: str = ""  # of the first failing instance, or of loading
    combined_score: float
    published_score: float | None
    ceiling: float | None  # the score of the proven optimum or best lower bound; None where there is none
    metrics: Mapping[str, float]
    results: tuple[InstanceResult, ...]
    feedback: str
    sandbox: str
    evaluator_version: str
    quarantine: str | None = None
    strict: StrictReport | None = None
    peak_memory_mb: float = 0.0
    runtime_s: float = 0.0  # mean CPU seconds per call; a clock measured it, so it is no metric of the judge
    objective: Objective = SCORE_ITSELF
    metric_bound: float | None = None  # the metric where every instance is at its bound; None where there is none
    best_known: BestKnown | None = None
    beyond: str | None = None
    spread: tuple[float, float] | None = None  # what the score may as well be, where the clock or chance is in it
    self_judged: bool = False
    private: Any = None
    answers: tuple[str, ...] | None = field(default=None, compare=False, repr=False)

    @property
    def correct(self) -> bool:
        """Every instance answered, feasibly, and nothing about the score is impossible."""
        return self.outcome is Outcome.OK and self.quarantine is None

    @property
    def confirmed(self) -> OrderRange | None:
        """What the program scores in other orders; None where that was not measured."""
        return None if self.strict is None else self.strict.confirmed

    @property
    def gap(self) -> float | None:
        """How far below the ceiling the score stands; None without a ceiling."""
        return None if self.ceiling is None else self.ceiling - self.combined_score

    @property
    def value(self) -> float | None:
        """The task's own metric: what people are shown. None of a program that is not correct."""
        return self.objective.value(self.combined_score, self.metrics, correct=self.correct)

    @property
    def value_bound(self) -> float | None:
        """What `value` would be with every instance at its bound; None without one."""
        return self.ceiling if self.objective.metric == COMBINED else self.metric_bound

    @property
    def value_gap(self) -> float | None:
        """How far `value` is from its bound; None where one of them is not known."""
        return self.objective.gap(self.value, self.value_bound)

    def to_json(self) -> dict[str, Any]:
        """The record of this evaluation. What a clock or the operating system measured stands under `measured`."""
        return {
            "task": self.task,
            "suite": self.suite,
            "outcome": self.outcome.value,
            "detail": self.detail,
            "correct": self.correct,
            "combined_score": self.combined_score,
            **({} if self.spread is None else {"spread": list(self.spread)}),
            **({"self_judged": True} if self.self_judged else {}),
            **({} if self.private is None else {"private": self.private}),
            "published_score": self.published_score,
            "ceiling": self.ceiling,
            "metrics": dict(self.metrics),
            "objective": self.objective.to_json(),
            "metric_bound": self.metric_bound,
            "best_known": None if self.best_known is None else asdict(self.best_known),
            "beyond": self.beyond,
            "costs": [None if r.cost is None else str(r.cost) for r in self.results],
            "failures": [[r.instance, r.outcome.value, r.detail] for r in self.results if r.outcome is not Outcome.OK],
            "feedback": self.feedback,
            "sandbox": self.sandbox,
            "evaluator_version": self.evaluator_version,
            "quarantine": self.quarantine,
            "strict": None if self.strict is None else self.strict.to_json(),
            "measured": {
                "runtime_s": self.runtime_s,
                "peak_memory_mb": self.peak_memory_mb,
                "cpu_ms": [round(r.cpu_s * 1000, 3) for r in self.results],
                "wall_ms": [round(r.wall_s * 1000, 3) for r in self.results],
            },
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> "Evaluation":
        """The inverse of `to_json`. Raises KeyError, ValueError or TypeError on a record of another shape."""
        measured = record["measured"]
        failures = {index: (outcome, detail) for index, outcome, detail in record["failures"]}
        results = []
        for index, cost in enumerate(record["costs"]):
            outcome, detail = failures.get(index, (Outcome.OK, ""))
            cpu_s, wall_s = (measured[name][index] / 1000 for name in ("cpu_ms", "wall_ms"))
            result = {"instance": index, "outcome": outcome, "cost": cost, "detail": detail}
            results.append(result | {"cpu_s": cpu_s, "wall_s": wall_s})
        strict = None if record["strict"] is None else StrictReport.from_json(record["strict"])
        return read_as(cls, dict(record) | measured | {"results": results, "strict": strict})


def headline_of_error(text: str) -> str:
    """The first line, or of a traceback what was raised at last."""
    lines = text.strip().split("\n")
    heads = [at for at, line in enumerate(lines) if line.startswith("Traceback")]
    if not heads or heads[0] > 0:
        return lines[0]
    return next((line for line in lines[heads[-1] + 1 :] if line and not line[0].isspace()), lines[-1])
