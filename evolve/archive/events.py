"""The events of a run, as typed values: one class per event of the journal.

The archive writes these events and readers get them back. Somebody else's archive is checked against the same classes:
a field of another type or range, an unknown field or a missing one is refused in one sentence, before anything uses it
(a text in place of a number would be ranked; a malformed id would become a path).

A field with a default is left out of the line where it has that value.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, ClassVar, Final, Literal, NotRequired, Self, TypeVar, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter
from pydantic import GetCoreSchemaHandler as Handler
from pydantic_core import CoreSchema, ValidationError, core_schema
from typing_extensions import TypedDict

from evaluator.evaluation import FARTHEST, Classification, Evaluation, Outcome
from evaluator.objective import Direction
from evaluator.sandbox.protocol import ProtocolError, check_depth
from evaluator.untrusted import one_line
from evolve.archive.lines import MAX_CUT, MAX_ITEMS, MAX_NUMBER, bounded
from evolve.archive.reports import InsightsReport, Problem, ProgramSummary, Round
from evolve.core.completion import (
    Adaptation,
    CallPhase,
    FailureReason,
    FinishReason,
    Followed,
    MetaKey,
    PatchKey,
    RequestKey,
    meta_key,
    request_key,
)
from evolve.core.program import Origin, PatchKind
from evolve.core.usage import Usage

MAX_NOTE: Final = 10_000
"""Characters of a note."""
MAX_DIGITS: Final = 4300
"""Digits of a cost's numerator or denominator: the most that Python reads and writes."""


class Status(StrEnum):
    """The state of a generation, which is one proposal: how it ended, or that it has not."""

    ASKED = "asked"  # in flight, or cut off before its answer came
    ANSWERED = "answered"  # the answer is recorded, and not yet evaluated
    EVALUATED = "evaluated"  # it became a program
    REFUSED = "refused"  # no attempt gave a usable patch
    DUPLICATE = "duplicate"  # the same program (normalised syntax tree) was seen before
    FAILED = "failed"  # the model could not be reached, or did not answer


class FreshState(StrEnum):
    """The state of a program's check on fresh instances."""

    HELD = "held"  # correct on every instance, and its gains hold there
    FAILED = "failed"  # not correct on all of them, or overfitted
    PARTLY_TRIED = "partly_tried"  # an interrupt or a fault of the machine came before its end
    NOT_TRIED = "not_tried"
    NOT_AVAILABLE = "not_available"  # there is none for this program or task


# -- types of fields -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Must:
    """States in words what a value must be; `schema` checks it where its type alone does not."""

    words: str
    schema: CoreSchema | None = None

    def __get_pydantic_core_schema__(self, source: Any, handler: Handler) -> CoreSchema:
        schema = handler(source) if self.schema is None else self.schema
        return core_schema.custom_error_schema(schema, "must", custom_error_message=self.words)


class _NotNull:
    """A field may be left out, and is None then; it may not be null."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Handler) -> CoreSchema:
        schema: Any = handler(source)
        inner: CoreSchema = schema["schema"]
        return inner


@dataclass(frozen=True, eq=False)
class _Shape:
    """States the keys of a mapping, with their types."""

    keys: type

    def __get_pydantic_core_schema__(self, source: Any, handler: Handler) -> CoreSchema:
        return handler.generate_schema(self.keys)


def _whole(most: int, least: int = 0) -> _Must:
    return _Must(f"a whole number from {least} to {most}", core_schema.int_schema(strict=True, ge=least, le=most))


def _number(least: float, most: float, words: str) -> _Must:
    return _Must(words, core_schema.float_schema(strict=True, ge=least, le=most, allow_inf_nan=False))


def _like(pattern: str, words: str) -> _Must:
    return _Must(words, core_schema.str_schema(strict=True, pattern=f"^(?:{pattern})$"))


def _text(most: int) -> _Must:
    def bounded(value: str) -> str:
        if len(value) > most:
            raise ValueError
        return value

    # Checked here, since a length makes pydantic refuse texts with half a surrogate pair.
    schema = core_schema.no_info_after_validator_function(bounded, core_schema.str_schema(strict=True))
    return _Must(f"a text of at most {most} characters", schema)


_Value = TypeVar("_Value")
Absent = Annotated[_Value | None, _NotNull()]

Whole = Annotated[int, _whole(MAX_NUMBER)]
Count = Annotated[int, _whole(MAX_ITEMS)]
Number = Annotated[float, _number(-FARTHEST, FARTHEST, "a finite number")]
Truth = Annotated[bool, _Must("true or false", core_schema.bool_schema(strict=True))]
Text = Annotated[str, _text(MAX_CUT)]
Line = Annotated[str, _text(1000)]
Term = Annotated[str, _text(200)]
Texts = Annotated[tuple[Text, ...], Field(max_length=MAX_ITEMS), _Must("a list of texts")]
Lines = Annotated[tuple[Line, ...], Field(max_length=1000), _Must("a list of texts")]
Id = Annotated[str, _like("[0-9a-f]{40}", "the id of an object (40 digits of hex)")]
Ids = Annotated[tuple[Id, ...], Field(max_length=1000), _Must("a list of ids of objects (40 digits of hex)")]
Sha256 = Annotated[str, _like("[0-9a-f]{64}", "a sha256 (64 digits of hex)")]
Name = Annotated[
    str, _like("[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}", "a plain name of at most 100 letters, digits, '_', '-' and '.'")
]
Short = Annotated[str, _like("[A-Za-z0-9_.:/+ -]{0,200}", "a short plain text")]
Reason = Annotated[str, _like("[a-z][a-z0-9_]{0,59}", "a short name")]


def _key(read: Callable[[str], RequestKey], words: str) -> _Must:
    return _Must(words, core_schema.no_info_after_validator_function(read, core_schema.str_schema(strict=True)))


Key = Annotated[RequestKey, _key(request_key, "the key of a request, such as patch/1/0")]
OfMeta = Annotated[MetaKey, _key(meta_key, "the key of a request of the meta-summarizer, such as meta/1/insights/1/0")]
Tokens = Annotated[int, _whole(10**15)]
Seconds = Annotated[float, _number(0.0, FARTHEST, "a number of seconds, 0 or more")]
Usd = Annotated[float, _number(0.0, 1e12, "a sum of money, 0 or more")]
Generations = Annotated[tuple[Whole, ...], Field(max_length=MAX_ITEMS), _Must("a list of generations")]


def _only(sound: Callable[[Any], bool]) -> AfterValidator:
    """Refuses a value that is not sound; the `_Must` behind it says what is."""

    def checked(value: Any) -> Any:
        if not sound(value):
            raise ValueError
        return value

    return AfterValidator(checked)


_SHORT_KEYS: Final = _only(lambda value: all(len(key) <= 200 for key in value))
Numbers = Annotated[dict[str, Number], Field(max_length=1000), _SHORT_KEYS, _Must("finite numbers by name")]
Values = Annotated[dict[str, Any], Field(max_length=1000), _SHORT_KEYS, _Must("values by name")]
_REFUSAL: Final = _only(lambda status: status in (Status.REFUSED, Status.DUPLICATE, Status.FAILED))
_ON_RECORD: Final = _only(lambda phase: phase is not CallPhase.WAITING)


def _shallow(value: Any) -> Any:
    try:
        check_depth(value)
    except ProtocolError:
        raise ValueError from None
    return value


_A_COST: Final = core_schema.str_schema(
    strict=True, pattern=rf"^-?[0-9]{{1,{MAX_DIGITS}}}(?:/[1-9][0-9]{{0,{MAX_DIGITS - 1}}})?$"
)
Cost = Annotated[str | None, _Must("an exact cost, such as '7/3', or null", core_schema.nullable_schema(_A_COST))]
Costs = Annotated[
    tuple[Cost, ...],
    Field(max_length=MAX_ITEMS),
    _Must(f"a list of exact costs (such as '7/3', at most {MAX_DIGITS} digits) and nulls"),
]
Measured = Annotated[float, _number(-1e12, 1e12, "a finite number")]
Times = Annotated[tuple[Measured, ...], Field(max_length=MAX_ITEMS), _Must("a list of finite numbers")]
CalledStatus = Literal["calling", FailureReason, FinishReason]
_ASCENDING: Final = _only(lambda pair: pair[0] <= pair[1])
Spread = Annotated[tuple[Number, Number], _ASCENDING, _Must("two finite numbers, the smaller one first")]
Failures = Annotated[
    tuple[tuple[Count, Outcome, Text], ...],
    Field(max_length=MAX_ITEMS),
    _Must("a list of failures: instance, outcome, detail"),
]
Differences = Annotated[
    tuple[tuple[Count, Text, Outcome, Cost, Outcome, Cost], ...],
    Field(max_length=MAX_ITEMS),
    _Must("a list of differences: instance, how, and two outcomes with their costs"),
]

# -- records within events -----------------------------------------------------------------------------------------


class JudgeData(TypedDict, total=False):
    """The evaluator of a run's programs."""

    evaluator_version: Short
    sandbox: Short
    held_out: Short | None
    task_digest: Short


class IdentityData(JudgeData):
    """The identity of a run: what it was begun with, and its evaluator."""

    task: Name
    suite: Name
    imported: NotRequired[Short]
    seed: NotRequired[Annotated[int, _whole(2**256, -(2**256))]]
    initial: NotRequired[Short]
    program: NotRequired[
        Annotated[str, _like(r"program(?:\.[A-Za-z0-9+]{1,12}|/)", "`program/`, or the name of a program's file")]
    ]


class GuidanceData(TypedDict):
    """The insights report in a prompt, by its number of programs, and which recommendation of it."""

    document: Whole
    recommendation: NotRequired[Whole]


PickedBy = Literal["bandit", "trial"]
CostUnit = Literal["usd", "tokens", "proposals"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """Why a model was chosen, where it was not drawn by weight. `by`: `bandit` (its index was the highest) or `trial`
    (too little is known of it yet). Its `proposals` so far, their mean `reward`, and their mean `cost` in `unit`
    (proposals, where no cost is known)."""

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")

    by: PickedBy
    proposals: Whole
    reward: Annotated[float, _number(0.0, 1.0, "a share")] | None = None
    cost: Annotated[float, _number(0.0, 1e15, "a cost, 0 or more")] | None = None
    unit: CostUnit | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignClaim:
    """What the result folder that a program was imported from states of it: its `id` there, its score (`None` where
    there is none, or it is no finite number: `stated` is its text then), whether it is correct, and what differs
    between parts of the folder."""

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")

    id: Line
    score: Number | None
    correct: Truth | None
    notes: Lines = ()
    stated: Term | None = None


class TuningData(TypedDict, total=False):
    """Counts of a search over numbers."""

    evaluations: Count
    numbers: Count
    dropped: Count
    changed: Count


class SampledData(TypedDict, total=False):
    """Values drawn from settings that are lists."""

    temperature: Number
    effort: Reason


class LatencyData(TypedDict):
    """Time measurements of a call."""

    latency_s: Measured


class FallenData(TypedDict):
    """A claim that an audit did not confirm: the recorded and the measured value in the task's metric, and why."""

    generation: Whole
    claimed: Number | None
    measured: Number | None
    why: Line


class ObjectiveData(TypedDict):
    """See `evaluator.objective.Objective`."""

    metric: Term
    direction: Direction
    per_instance: Direction
    unit: Term


class BestKnownData(TypedDict):
    """See `evaluator.objective.BestKnown`."""

    value: Number
    score: Number | None
    where_from: Text


class OrdersData(TypedDict):
    """See `evaluator.evaluation.OrderRange`."""

    median: Number | None
    low: Number | None
    high: Number | None
    n: Annotated[int, _whole(1000, 1)]


def _ascending(value: OrdersData) -> OrdersData:
    scores = value["low"], value["median"], value["high"]
    low, median, high = (-FARTHEST if score is None else score for score in scores)
    if not low <= median <= high:
        raise ValueError("`low`, `median` and `high` must ascend, null (an order in which it fails) first")
    return value


Orders = Annotated[OrdersData, AfterValidator(_ascending)]


class StrictData(TypedDict):
    """See `evaluator.evaluation.StrictReport`."""

    agrees: Truth
    classification: Classification | None
    detail: Text
    differences: Differences
    skipped: Lines
    confirmed: Orders | None


class MeasuredData(TypedDict):
    """Measurements of an evaluation by clocks and the operating system."""

    runtime_s: Number
    peak_memory_mb: Number
    cpu_ms: Times
    wall_ms: Times


class PairedData(TypedDict):
    """See `evaluator.evaluation.PairedResult`."""

    than: Short
    times: Number
    low: Number
    high: Number
    pairs: Annotated[int, _whole(1000, 1)]
    chance: Number
    is_better: Truth


class EvaluationData(TypedDict):
    """The verdict on one program, as `evaluator.evaluation.Evaluation.to_json` gives it."""

    task: Name
    suite: Name
    outcome: Outcome
    detail: Text
    correct: Truth
    combined_score: Number
    published_score: Number | None
    ceiling: Number | None
    metrics: Numbers
    objective: ObjectiveData
    metric_bound: Number | None
    best_known: BestKnownData | None
    beyond: Text | None
    costs: Costs
    failures: Failures
    feedback: Text
    sandbox: Short
    evaluator_version: Short
    quarantine: Text | None
    strict: StrictData | None
    measured: MeasuredData
    spread: NotRequired[Spread]
    self_judged: NotRequired[Truth]
    pairs: NotRequired[Annotated[int, _whole(1000)]]
    against: NotRequired[PairedData]
    private: NotRequired[Annotated[Any, AfterValidator(_shallow), _Must("a value that is not nested deeply")]]


def _instance_by_instance(value: EvaluationData) -> EvaluationData:
    """Each instance has one time, and one cost or one failure."""
    measured, count = value["measured"], len(value["costs"])
    if not len(measured["cpu_ms"]) == len(measured["wall_ms"]) == count:
        raise ValueError("`costs`, `cpu_ms` and `wall_ms` must be as long as each other")
    failed = [index for index, _, _ in value["failures"]]
    if failed and (len(set(failed)) < len(failed) or max(failed) >= count):
        raise ValueError(f"`failures` must name each of the {count} instances once at most")
    return value


def _origin(value: Origin) -> Origin:
    if max(map(len, (value.model, value.patch_name, value.description))) > MAX_CUT:
        raise ValueError(f"its texts must have at most {MAX_CUT} characters")
    if len(value.features) > 1000 or any(len(feature) > 1000 for feature in value.features):
        raise ValueError("`features` must be at most 1000 texts of at most 1000 characters")
    return value


def _adaptation(value: Adaptation) -> Adaptation:
    if len(value.model) > MAX_CUT or len(value.parameter) > 200:
        raise ValueError("`model` and `parameter` must be short texts")
    for sent in (value.value, value.to):
        if not (len(sent) <= 200 if isinstance(sent, str) else sent is None or -FARTHEST <= sent <= FARTHEST):
            raise ValueError("`value` and `to` must be a number, a short text or null")
    if (value.to is None) != (value.change == "dropped"):
        raise ValueError("`to` must say what replaces it, and be null for what was dropped")
    return value


Verdict = Annotated[EvaluationData, AfterValidator(_instance_by_instance)]
Adaptations = Annotated[tuple[Annotated[Adaptation, AfterValidator(_adaptation)], ...], Field(max_length=100)]


# -- events --------------------------------------------------------------------------------------------------------


_WRITTEN: Final = {"written": True}
"""Marks a field with a default that is always written, such as those that the archive fills in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _EventOfRun:
    """The fields of every event, which the journal fills in: its number, and when it was written (wall seconds)."""

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid", allow_inf_nan=False)

    seq: Annotated[int, _whole(2**53)] = field(default=0, metadata=_WRITTEN)
    t: Annotated[float, _number(0.0, 253402300799.0, "a time in seconds, of this era")] = field(
        default=0.0, metadata=_WRITTEN
    )

    def fault(self) -> str | None:
        """Which fields contradict each other, in words; None if none do."""
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _OfAnAttempt(_EventOfRun):
    """The fields of an event about one attempt of a generation."""

    generation: Whole
    attempt: Whole


@dataclass(frozen=True, slots=True, kw_only=True)
class _Used(_EventOfRun):
    """The cost of a call. `estimated`: the server stated no usage."""

    tokens_in: Tokens
    tokens_out: Tokens
    cost_usd: Usd | None
    estimated: Truth
    measured: LatencyData

    @property
    def usage(self) -> Usage:
        """The cost or estimate of the call, as one value."""
        return Usage(
            tokens_in=self.tokens_in,
            tokens_out=self.tokens_out,
            tokens_cached=getattr(self, "tokens_cached", 0),
            cost_usd=self.cost_usd,
            latency_s=self.measured["latency_s"],
            estimated=self.estimated,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Paid(_Used):
    """The cost of an answer."""

    tokens_cached: Tokens = 0

    def fault(self) -> str | None:
        """The cache cannot have held more than was sent."""
        return None if self.tokens_cached <= self.tokens_in else "`tokens_cached` must be no more than `tokens_in`"


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedEvent(_EventOfRun):
    """The run was begun. It is the first event, and says which `format` the archive has."""

    event: Literal["created"] = "created"
    format: Any
    """The version of the archive's format."""
    identity: Annotated[Mapping[str, Any], _Shape(IdentityData)]
    """Task, suite, seed and initial program; the evaluator; `program`, the name of a program's file where it is not
    `program.py`; `imported`, the system whose result folder the run was made of."""
    config: Sha256
    """The digest of `run.yaml`."""
    run_id: Absent[Annotated[str, _like("[0-9a-f]{32}", "32 digits of hex")]] = None
    """A random id; no part of the fingerprint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedEvent(_OfAnAttempt):
    """A question is about to be asked. `position` says how much the search knew when it was chosen."""

    event: Literal["asked"] = "asked"
    kind: PatchKind
    island: Annotated[int, _whole(10**6)]
    parents: Ids
    inspirations: Ids
    model: Text
    estimate_usd: Usd = field(default=0.0, metadata=_WRITTEN)
    """Reserved of the budget until the question is sent, as `estimate_tokens` is."""
    prompt: Id | None = field(default=None, metadata=_WRITTEN)
    """The text of the prompt; null where no model is asked."""
    position: Whole = field(default=0, metadata=_WRITTEN)
    """How many generations had ended when it was chosen, and how many programs had been confirmed or withdrawn."""
    estimate_tokens: Tokens = 0
    guidance: Absent[Annotated[Mapping[str, int], _Shape(GuidanceData)]] = None
    """The insights report in the prompt (`document`: its number of programs), and which `recommendation` of it."""
    shortened: Truth = False
    """The prompt would have been too long, so parts of it were left out."""
    unguided: Truth = False
    """It was drawn to get no guidance."""
    instead_of: Absent[Text] = None
    """The model that was chosen, and has been given weight 0 since."""
    picked: Absent[ModelChoice] = None
    """Why the model was chosen, where it was not drawn by weight; and its `proposals`, mean `reward` and mean `cost`
    at that time."""
    repair: Truth = False
    """`repair_model` was asked."""
    by_hand: Truth = False
    """A person asked it, outside of any session (`tune`)."""
    direction: Absent[Annotated[int, _whole(100, 1)]] = None
    """The number of the kind of change that the prompt suggested, so that it differs from others."""

    def fault(self) -> str | None:
        """A question names the program to be changed."""
        return None if self.parents else "`parents` must name the program that is to be changed"


_PARTS_OF_CALLS: Final = (
    (("sampled", "limit_s"), CallPhase.CALLING, "is announced"),
    (("adapted", "again_in_s"), CallPhase.FAILED, "failed"),
)
"""The fields of a `called` event that belong to one phase only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CalledEvent(_Used):
    """An HTTP attempt is about to be made, or one failed."""

    event: Literal["called"] = "called"
    key: Key
    call: Whole
    phase: Annotated[CallPhase, _ON_RECORD, _Must("one of calling, failed, answered")]
    status: CalledStatus
    model: Text
    http_status: Annotated[int, _whole(999)] | None
    message: Text
    sampled: Absent[Annotated[Mapping[str, float | str], _Shape(SampledData)]] = None
    """Values drawn from settings that are lists, recorded before the call."""
    adapted: Adaptations = ()
    """Parameters changed from now on, since the endpoint refused them. They hold until `models` is changed."""
    limit_s: Absent[Seconds] = None
    """The time limit of the call in seconds."""
    again_in_s: Absent[Seconds] = None
    """Seconds until the request is sent again; absent where it is not."""

    @property
    def is_server_failure(self) -> bool:
        """Whether the server made it fail, and not a refused parameter or the end of the run."""
        return self.phase is CallPhase.FAILED and not self.adapted and self.status != "cancelled"

    def fault(self) -> str | None:
        """Drawn values and the time limit are recorded before a call, the rest after it failed."""
        for names, phase, where in _PARTS_OF_CALLS:
            wrong = [name for name in names if self.phase is not phase and getattr(self, name) not in (None, ())]
            if wrong:
                return f"`{wrong[0]}` must stand where the call {where}"
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredEvent(_Paid):
    """A question was answered. Nothing has been done with the answer yet."""

    event: Literal["answered"] = "answered"
    generation: Whole
    attempt: Whole
    finish_reason: FinishReason
    answer: Id = field(default="", metadata=_WRITTEN)
    reasoning: Absent[Id] = None
    tuning: Absent[Annotated[Mapping[str, int], _Shape(TuningData)]] = None
    """Counts of the search over numbers, if that answered and no model did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedEvent(_OfAnAttempt):
    """An attempt gives no program."""

    event: Literal["refused"] = "refused"
    status: Annotated[Status, _REFUSAL, _Must("one of duplicate, failed, refused")]
    reason: Reason
    message: Text
    final: Truth
    """Whether the generation ends with it."""
    duplicate_of: Absent[Whole] = None
    followed: Absent[Followed] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatedEvent(_OfAnAttempt):
    """A program was evaluated, and its generation has ended."""

    event: Literal["evaluated"] = "evaluated"
    parents: Ids
    inspirations: Ids
    island: Annotated[int, _whole(10**6)]
    origin: Annotated[Origin, AfterValidator(_origin)]
    source_hash: Annotated[str, _like("[0-9A-Za-z]{1,128}", "a hash")]
    length: Whole = field(default=0, metadata=_WRITTEN)
    """Characters of the source."""
    evaluation: Verdict
    commit: Id = field(default="", metadata=_WRITTEN)
    provisional: Truth = False
    """It ranks above the best, and awaits confirmation by a `rescored` event, unless a higher one leads."""
    certificate: Absent[Id] = None
    """The commit with its answers (`answers.json`), if it became the best; no part of the fingerprint."""
    followed: Absent[Followed] = None
    """What the answer says of the recommendation in its prompt."""
    claimed: Absent[ForeignClaim] = None
    """What the folder that it was imported from claims: `id` there, `score`, `correct`, `notes`, `stated`. No decision
    uses it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOutEvent(_EventOfRun):
    """The score of the initial program or a new best on the held-out suite. It is shown to people: no prompt, insights
    report or decision depends on it."""

    event: Literal["held_out"] = "held_out"
    generation: Whole
    suite: Name
    outcome: Outcome
    correct: Truth
    combined_score: Number
    ceiling: Number | None
    gap: Number | None
    value: Number | None
    value_gap: Number | None
    quarantine: Text | None
    costs: Costs
    """The exact cost on each instance; null where it failed."""
    overfitted: Text | None
    """Why its gains are on the suite only; null where they are not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReorderedEvent(_EventOfRun):
    """The scores of a best program in new orders at a session's end, which selection never uses. Shown to people."""

    event: Literal["reordered"] = "reordered"
    generation: Whole
    orders: Orders
    """`median`, `low` and `high` of its `combined_score` in `n` orders; null is an order in which it fails."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemeasuredEvent(_EventOfRun):
    """The best program of a repository in fresh pairs with the unchanged code, at a session's end. Selection never uses
    it."""

    event: Literal["remeasured"] = "remeasured"
    generation: Whole
    result: PairedData
    host: Short
    """The machine that measured."""
    load: Number
    """How many processes wanted to run there, on average over the last minute, for each core."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RescoredEvent(_EventOfRun):
    """A program above the best was confirmed, or was not; or a judge that has changed scored a program again."""

    event: Literal["rescored"] = "rescored"
    generation: Whole
    evaluation: Verdict
    certificate: Absent[Id] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcludedEvent(_EventOfRun):
    """A person excluded a program from selection and best."""

    event: Literal["excluded"] = "excluded"
    generation: Whole


@dataclass(frozen=True, slots=True, kw_only=True)
class LostEvent(_OfAnAttempt):
    """No answer will come to a question: the process that waited was killed. It counts at its estimate."""

    event: Literal["lost"] = "lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class SummarisingEvent(_EventOfRun):
    """A call of the meta-summarizer is about to be made; the first one begins a round. Rounds that close a session have
    no such event."""

    event: Literal["summarising"] = "summarising"
    programs: Whole
    position: Whole


@dataclass(frozen=True, slots=True, kw_only=True)
class MetaAnsweredEvent(_Paid):
    """A request of the meta-summarizer was answered."""

    event: Literal["meta_answered"] = "meta_answered"
    key: OfMeta
    prompt: Id
    answer: Id
    finish_reason: FinishReason


@dataclass(frozen=True, slots=True, kw_only=True)
class _EndedRound(_EventOfRun):
    """The end of a round: see `evolve.archive.reports.Round`."""

    programs: Whole
    report: InsightsReport | None
    """`warning`, `summaries`, `scratchpad` (`preface`, and the insights of four `sections`), `recommendations`,
    `outcomes`; null where a step failed. A text is a list of strings and citations: `generations`, `figure`, and the
    statement of code in its place (`shown`)."""
    pending: Annotated[tuple[ProgramSummary, ...], Field(max_length=MAX_ITEMS)]
    """Summaries that the next round takes over."""
    problems: Annotated[tuple[Problem, ...], Field(max_length=MAX_ITEMS)]
    """Each step without a usable answer: `step`, `generation` and `why`."""
    corrections: Texts
    """What was removed from the texts of models."""

    @classmethod
    def of(cls, programs: int, ended: Round) -> Self:
        """The event of a round that was begun when there were `programs` programs."""
        return cls(
            programs=programs,
            report=ended.report,
            pending=ended.pending,
            problems=ended.problems,
            corrections=ended.corrections,
        )

    @property
    def ended(self) -> Round:
        """How the round ended, as one value."""
        return Round(report=self.report, pending=self.pending, problems=self.problems, corrections=self.corrections)


@dataclass(frozen=True, slots=True, kw_only=True)
class SummarisedEvent(_EndedRound):
    """A round of the meta-summarizer ended, with a report or with problems."""

    event: Literal["summarised"] = "summarised"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedEvent(_EndedRound):
    """A session ended with a report over all programs. It is for readers: no prompt holds it."""

    event: Literal["closed"] = "closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumedEvent(_EventOfRun):
    """A session resumes the run. `identity` is there if another judge scores from now on."""

    event: Literal["resumed"] = "resumed"
    changed: Values
    """The keys of the configuration that differ, with their values."""
    config: Absent[Sha256] = None
    identity: Absent[Annotated[Mapping[str, Any], _Shape(JudgeData)]] = None
    rescore: Generations = ()
    """The generations that are to be scored again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppedEvent(_EventOfRun):
    """A session ended, after all of its closing checks."""

    event: Literal["stopped"] = "stopped"
    reason: Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class NotedEvent(_EventOfRun):
    """Somebody wrote a note about a generation. No decision uses it."""

    event: Literal["noted"] = "noted"
    generation: Whole
    text: Annotated[str, _text(MAX_NOTE)]


@dataclass(frozen=True, slots=True, kw_only=True)
class FreshEvent(_EventOfRun):
    """A best program was tried on a sample of fresh instances at a session's end, or could not be.

    Of the `instances` in the sample, the best program was `better` than the initial one on some, `equal` and `worse` on
    others. `why` says why the remaining ones were not tried.
    """

    event: Literal["fresh"] = "fresh"
    generation: Whole
    suite: Name
    state: FreshState
    seed: Short = field(default="", metadata=_WRITTEN)
    """The seed of the instances; empty where none were drawn."""
    instances: Count = field(default=0, metadata=_WRITTEN)
    better: Count = field(default=0, metadata=_WRITTEN)
    equal: Count = field(default=0, metadata=_WRITTEN)
    worse: Count = field(default=0, metadata=_WRITTEN)
    correct: Truth = field(default=True, metadata=_WRITTEN)
    overfitted: Text | None = field(default=None, metadata=_WRITTEN)
    why: Text | None = field(default=None, metadata=_WRITTEN)

    @property
    def count(self) -> int:
        """How many instances were tried."""
        return self.better + self.equal + self.worse

    def fault(self) -> str | None:
        """The state fits the counts."""
        tried = self.count
        sound = self.correct and self.overfitted is None
        agrees = {
            FreshState.HELD: sound and tried == self.instances > 0,
            FreshState.FAILED: not sound and tried == self.instances > 0,
            FreshState.PARTLY_TRIED: 0 < tried < self.instances,
        }
        fits = agrees.get(self.state, tried == 0)
        return None if fits else f"`state` {self.state} does not fit the instances that were tried"


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningBaselineEvent(_EventOfRun):
    """The initial program's numbers were tuned after the search. It is for readers: no parent, best or prompt uses
    it."""

    event: Literal["tuning_baseline"] = "tuning_baseline"
    proposals: Whole
    """The most evaluations that the search had: one per proposal."""
    tuning: Annotated[Mapping[str, int], _Shape(TuningData)]
    """Its counts; `numbers` is 0 where the initial program has none to tune."""
    value: Number | None
    """The result with the best numbers, in the task's metric; null without a correct program."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedEvent(_EventOfRun):
    """Every program was scored again after the search (`evolve audit`), by the evaluator of that moment. No decision
    uses the result."""

    event: Literal["audited"] = "audited"
    evaluator_version: Short
    sandbox: Short
    holds: Generations
    """The generations whose recorded scores hold."""
    falls: Annotated[tuple[FallenData, ...], Field(max_length=MAX_ITEMS)]
    """Those whose scores do not: `generation`, the `claimed` and the `measured` value, and `why`."""
    unjudged: Generations
    """Those without a score, or with one that cannot be judged."""


SessionEvent = CreatedEvent | ResumedEvent | StoppedEvent
AttemptEvent = AskedEvent | AnsweredEvent | RefusedEvent | EvaluatedEvent | LostEvent
ProgramEvent = HeldOutEvent | FreshEvent | ReorderedEvent | RemeasuredEvent | RescoredEvent | ExcludedEvent
RoundEvent = SummarisingEvent | MetaAnsweredEvent | SummarisedEvent | ClosedEvent
AfterEvent = TuningBaselineEvent | AuditedEvent
Event = SessionEvent | AttemptEvent | CalledEvent | ProgramEvent | RoundEvent | NotedEvent | AfterEvent
EVENTS: Final[Mapping[str, type[Event]]] = {
    str(member.default): kind for kind in get_args(Event) for member in fields(kind) if member.name == "event"
}


def read_event(document: Mapping[str, Any]) -> Event:
    """The event in a line of the journal. Raises ValueError, which names the field, if it is not one."""
    name = document["event"]
    if name not in EVENTS:
        raise ValueError(f"unknown event {name!r:.40}: this version of evolve cannot read it")
    try:
        event: Event = _reader(name).validate_python(document)
    except ValidationError as cause:
        raise ValueError(_in_words(cause)) from None
    if not _always(name) <= document.keys():
        raise ValueError(f"it lacks '{min(_always(name) - document.keys())}'")
    if (fault := event.fault()) is not None:
        raise ValueError(fault)
    return event


def verdict_of(evaluation: Evaluation) -> EvaluationData:
    """An evaluation as an event holds it, long texts cut. Raises ValueError for one that readers would refuse."""
    document = {"event": "rescored", "seq": 0, "t": 0.0, "generation": 0, "evaluation": bounded(evaluation.to_json())}
    event = read_event(document)
    assert isinstance(event, RescoredEvent)
    return event.evaluation


def document_of(event: Event) -> dict[str, Any]:
    """The JSON of an event, as its line holds it."""
    always = _always(event.event)
    document: dict[str, Any] = {"seq": event.seq, "t": event.t, "event": event.event}
    for member in fields(event):
        value = getattr(event, member.name)
        if member.name in always or value != member.default:
            document[member.name] = plain(value)
    return document


def plain(value: Any) -> Any:
    """The value of a field, as JSON."""
    if value is None or isinstance(value, str | int | float):  # most values, and the checks below are slow
        return value
    if isinstance(value, PatchKey | MetaKey):
        return str(value)
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if is_dataclass(value):
        return {member.name: plain(getattr(value, member.name)) for member in fields(value)}
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


@cache
def _always(name: str) -> frozenset[str]:
    """The fields that every line of such an event has."""
    return frozenset(
        member.name
        for member in fields(EVENTS[name])
        if member.default is MISSING or member.metadata or member.name == "event"
    )


@cache
def _reader(name: str) -> TypeAdapter[Any]:
    """Made when the first event of a kind is read: all of them would take as long as opening a small run."""
    return TypeAdapter(EVENTS[name])


def _in_words(cause: ValidationError) -> str:
    """The first error in one sentence; an unknown field comes first."""
    errors = cause.errors(include_url=False)
    unknown = ("extra_forbidden", "unexpected_keyword_argument")
    error = next((error for error in errors if error["type"] in unknown), errors[0])
    path = one_line(".".join(map(str, error["loc"])), 100)
    match error["type"]:
        case "missing" | "missing_keyword_only_argument":
            return f"it lacks '{path}'"
        case kind if kind in unknown:
            return f"unknown field `{path}`: this version of evolve cannot read it"
        case "value_error" if str(error["ctx"]["error"]):
            return f"`{path}`: {error['ctx']['error']}"
        case "dataclass_type" | "dict_type":
            must = "a record"
        case _:
            must = error["msg"].removeprefix("Input should be ")
    return f"`{path}` is {one_line(repr(error['input'])[:80])}, and must be {must}"
