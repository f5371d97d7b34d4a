"""The values of an evaluation: an outcome, a verdict per instance, metrics. Plain frozen values."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Any, Final, Self

from evaluator.input_files import read_as
from evaluator.objective import COMBINED, SCORE_ITSELF, BestKnown, Objective
from evaluator.program_files import Files

FARTHEST: Final = 1e100
"""No cost, score or metric lies farther from 0, so that sums and squares over a whole run stay finite."""
LEAST_SPREAD: Final = 0.02
"""The least half-width of the spread of a measured speed, relative to the speed."""


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
"""Outcomes that depend on the moment and the machine as much as on the program."""


def exceeds(score: float, ceiling: float | None) -> bool:
    """Whether a score lies above its ceiling by more than rounding: then the task or the evaluator has a bug."""
    return ceiling is not None and score - ceiling > 1e-8 * max(1.0, abs(ceiling))


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The result of one answer. `cost` is the exact number that the judge returned, None unless the outcome is ok; its
    direction is `Objective.per_instance`."""

    outcome: Outcome
    cost: Fraction | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Numbers of a program over a whole suite. `score` ranks programs, larger is better. `published_score` is by the
    benchmark's own formula and ranks nothing; None where there is none."""

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
        """What a second evaluation must reproduce: neither measured times nor texts."""
        return self.outcome, self.cost


class Classification(StrEnum):
    """Why a program's answers differ when it is asked in another way."""

    NONDETERMINISTIC = "nondeterministic"  # also: a clock, the system's randomness, memory addresses
    HASH_ORDER = "hash_order"  # the order of a set of strings
    STATE = "state_across_instances"
    NAMES = "depends_on_names"
    INCONCLUSIVE = "inconclusive"  # it met a limit in one way of asking and not in the other


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """One instance with another answer than before. `how` says what was different in asking."""

    instance: int
    how: str
    ordinary: tuple[Outcome, Fraction | None]
    found: tuple[Outcome, Fraction | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderRange:
    """The `combined_score` of a program in `n` other orders of its instances: median (the lower middle one of an even
    number), lowest and highest. None stands for an order in which it fails, worse than any score."""

    median: float | None
    low: float | None
    high: float | None
    n: int

    @classmethod
    def of(cls, scores: Sequence[float | None]) -> Self | None:
        """The range of these scores; None without scores."""
        ranked = sorted(scores, key=lambda score: -math.inf if score is None else score)
        if not ranked:
            return None
        return cls(median=ranked[(len(ranked) - 1) // 2], low=ranked[0], high=ranked[-1], n=len(ranked))

    def shown(self, scale: Objective) -> tuple[str, str, str]:
        """(low, high, median) as texts for people and models, in the metric's own direction."""
        ends = (self.low, self.high)[:: scale.direction.sign]
        low, high, median = (
            "failed" if score is None else scale.amount(scale.direction.sign * score) for score in (*ends, self.median)
        )
        return low, high, median


@dataclass(frozen=True, slots=True, kw_only=True)
class StrictReport:
    """The result of strict re-evaluation: whether a program's answers stay the same in every way of asking.

    `classification` is None if they do. `differences` are the first instances that disagree. `skipped` names the checks
    that the task has no hook for. `confirmed` is the score range of a correct program in other orders, which does not
    affect correctness; None where the task's judge has no `permuted`.
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
class Incumbent:
    """The best program so far, which another one is compared with."""

    commit: str
    program: Files
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedResult:
    """A program measured in pairs with another one (`evaluator.pairs`): how many `times` better it is, with a range of
    confidence; the probability of that by chance; and whether it is better. `than` is the commit of the other one."""

    than: str
    times: float
    low: float
    high: float
    pairs: int
    chance: float
    is_better: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A score over one suite, and what it is compared with. `quarantine` says why the score cannot be trusted, if so.
    `beyond` says which listed values a correct program is better than, where it is better than all of them.
    `self_judged`: the program shares the process that made its score, and could have changed it."""

    outcome: Outcome
    combined_score: float
    ceiling: float | None  # the score of the proven optimum or best lower bound; None where there is none
    metrics: Mapping[str, float]
    quarantine: str | None = None
    objective: Objective = SCORE_ITSELF
    metric_bound: float | None = None  # the metric where every instance is at its bound; None where there is none
    best_known: BestKnown | None = None
    beyond: str | None = None
    spread: tuple[float, float] | None = None  # confidence range of the score, where a clock or chance affects it
    self_judged: bool = False

    @property
    def correct(self) -> bool:
        """Every instance answered, feasibly, and nothing about the score is impossible."""
        return self.outcome is Outcome.OK and self.quarantine is None

    @property
    def confirmed(self) -> OrderRange | None:
        """The score range in other orders; None where that was not measured."""
        return None

    @property
    def gap(self) -> float | None:
        """The distance of the score from the ceiling; None without a ceiling."""
        return None if self.ceiling is None else self.ceiling - self.combined_score

    @property
    def value(self) -> float | None:
        """The task's own metric, which people are shown; None for a program that is not correct."""
        return self.objective.value(self.combined_score, self.metrics, correct=self.correct)

    @property
    def value_bound(self) -> float | None:
        """`value` with every instance at its bound; None without a bound."""
        return self.ceiling if self.objective.metric == COMBINED else self.metric_bound

    @property
    def value_gap(self) -> float | None:
        """The distance of `value` from its bound; None where either is unknown."""
        return self.objective.gap(self.value, self.value_bound)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation(Scored):
    """The verdict on one program over one suite. `private` (any JSON) comes from the script; it is recorded and shown,
    and reaches no prompt and no insights report.

    `strict` is None when the program was not examined. `answers` (JSON, one per instance, as the judge takes them) are
    those of a correct, examined program, if they could be kept: see `evaluator.certificate`.
    """

    task: str
    suite: str
    detail: str = ""  # of the first failing instance, or of loading
    published_score: float | None
    results: tuple[InstanceResult, ...]
    feedback: str
    sandbox: str
    evaluator_version: str
    strict: StrictReport | None = None
    peak_memory_mb: float = 0.0
    runtime_s: float = 0.0  # mean CPU seconds per call, measured: so it is no metric of the judge
    private: Any = None
    pairs: int | None = None  # the pairs of runs behind the score, where programs are measured so
    against: PairedResult | None = None  # the comparison with what was the best, where that decides
    answers: tuple[str, ...] | None = field(default=None, compare=False, repr=False)

    @property
    def confirmed(self) -> OrderRange | None:
        """See Scored."""
        return None if self.strict is None else self.strict.confirmed

    def to_json(self) -> dict[str, Any]:
        """The record of this evaluation; measured times and memory are under `measured`."""
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
            **self._in_pairs(),
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

    def _in_pairs(self) -> dict[str, Any]:
        against = {} if self.against is None else {"against": asdict(self.against)}
        return ({} if self.pairs is None else {"pairs": self.pairs}) | against

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
    """The first line of an error's text; of a traceback, the exception that it ends with."""
    lines = text.strip().split("\n")
    heads = [at for at, line in enumerate(lines) if line.startswith("Traceback")]
    if not heads or heads[0] > 0:
        return lines[0]
    return next((line for line in lines[heads[-1] + 1 :] if line and not line[0].isspace()), lines[-1])
