"""What each event of a journal holds: every field with its type and range, looked at before anything acts on it.

An archive may be somebody else's. A number that is a text would become a part of a path, an id that is none a path of
its own, a score that is not finite would rank. So a record is what this table says, or it is refused in one sentence;
a field that the table does not know is refused too. The table is written by hand, so that it is quick: 0.26 s of CPU
for the events of 10,000 programs of 50 instances each.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from evaluator.evaluation import Classification, Outcome
from evaluator.objective import Direction
from evaluator.untrusted import one_line
from evolve.archive.records import Status
from evolve.completion import FAILURE_REASONS, FINISH_REASONS
from evolve.program import PatchKind

MAX_TEXT: Final = 64 * 1024 + 100
"""Characters of a text in an event: as many as the journal keeps, with its note of what it cut."""
MAX_NUMBER: Final = 10**9
"""No generation, attempt, position or number of programs is larger."""
MAX_ISLANDS: Final = 10**6
MAX_ITEMS: Final = 100_000
"""Entries of one list: instances, parents, corrections."""
MAX_DIGITS: Final = 4300
"""Digits of the numerator or the denominator of a cost: what Python reads and writes."""

_FINITE: Final = 1.7976931348623157e308
_YEAR_9999: Final = 253402300799
_ID = re.compile(r"[0-9a-f]{40}")
_COSTS = re.compile(rf"(?:-?[0-9]{{1,{MAX_DIGITS}}}(?:/0*[1-9][0-9]{{0,{MAX_DIGITS}}})? )*")


@dataclass(frozen=True, slots=True)
class _Rule:
    """Whether a value may stand in a field, and what one that may is."""

    ok: Callable[[Any], bool]
    must: str

    def fault(self, value: Any, path: str) -> str | None:
        """What is wrong with a value, in words; None when nothing is."""
        return None if self.ok(value) else f"`{path}` is {one_line(repr(value)[:80])}, and must be {self.must}"


@dataclass(frozen=True, slots=True)
class _Shape:
    """A record: the fields that it has, and those that it may have."""

    required: Mapping[str, "_Rule | _Shape"]
    optional: Mapping[str, "_Rule | _Shape"] = field(default_factory=dict)
    extra: Callable[[Any], str | None] | None = None
    rules: Mapping[str, "_Rule | _Shape"] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rules", {**self.required, **self.optional})

    def ok(self, value: Any) -> bool:
        return self.fault(value, "") is None

    def fault(self, value: Any, path: str) -> str | None:
        if type(value) is not dict:
            return f"`{path}` is {one_line(repr(value)[:80])}, and must be a record"
        rules = self.rules
        for key, item in value.items():
            rule = rules.get(key)
            if rule is None:
                return f"`{_at(path, one_line(key, 40))}` is no field that this version of evolve knows"
            if not rule.ok(item):
                return rule.fault(item, _at(path, key))
        if not self.required.keys() <= value.keys():
            return f"it lacks '{_at(path, next(key for key in self.required if key not in value))}'"
        found = None if self.extra is None else self.extra(value)
        return None if found is None else (f"`{path}`: {found}" if path else found)


def _at(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


# -- rules ---------------------------------------------------------------------------------------------------------


def _whole(most: int = MAX_NUMBER, least: int = 0) -> _Rule:
    return _Rule(lambda v: type(v) is int and least <= v <= most, f"a whole number from {least} to {most}")


def _number(least: float = -_FINITE, most: float = _FINITE, must: str = "a finite number") -> _Rule:
    return _Rule(lambda v: (type(v) is float or type(v) is int) and least <= v <= most, must)


def _text(most: int = MAX_TEXT) -> _Rule:
    return _Rule(lambda v: type(v) is str and len(v) <= most, f"a text of at most {most} characters")


def _like(pattern: str, must: str) -> _Rule:
    match = re.compile(pattern).fullmatch
    return _Rule(lambda v: type(v) is str and match(v) is not None, must)


def _one_of(values: Iterable[str]) -> _Rule:
    known = frozenset(map(str, values))
    return _Rule(lambda v: type(v) is str and v in known, f"one of {', '.join(sorted(known))}")


def _or_null(rule: "_Rule") -> _Rule:
    ok = rule.ok
    return _Rule(lambda v: v is None or ok(v), f"{rule.must}, or null")


def _list(rule: "_Rule | _Shape", must: str, most: int = MAX_ITEMS) -> _Rule:
    ok = rule.ok
    return _Rule(lambda v: type(v) is list and len(v) <= most and all(map(ok, v)), f"a list of {must}")


def _map(rule: _Rule, must: str, most: int = 1000) -> _Rule:
    ok = rule.ok
    return _Rule(
        lambda v: type(v) is dict and len(v) <= most and all(len(k) <= 200 and ok(x) for k, x in v.items()),
        f"{must} by name",
    )


def _are_costs(value: Any) -> bool:
    """One regular expression over all of them: this runs for every instance of every program."""
    if type(value) is not list or len(value) > MAX_ITEMS or not set(map(type, value)) <= {str, type(None)}:
        return False
    text = "".join([f"{cost} " for cost in value if cost is not None])
    return _COSTS.fullmatch(text) is not None and text.count(" ") == len(value) - value.count(None)


def _are_times(value: Any) -> bool:
    if type(value) is not list or len(value) > MAX_ITEMS or not set(map(type, value)) <= {float, int}:
        return False
    return not value or (min(value) >= -1e12 and max(value) <= 1e12)


_TRUTH = _Rule(lambda v: v is True or v is False, "true or false")
_ID_RULE = _Rule(lambda v: type(v) is str and _ID.fullmatch(v) is not None, "the id of an object (40 digits of hex)")
_ID_OR_NULL = _or_null(_ID_RULE)
_IDS = _list(_ID_RULE, "ids of objects (40 digits of hex)", 1000)
_SHA256 = _like(r"[0-9a-f]{64}", "a sha256 (64 digits of hex)")
_NAME = _like(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}", "a plain name of at most 100 letters, digits, '_', '-' and '.'")
_SHORT = _like(r"[A-Za-z0-9_.:/+ -]{0,200}", "a short plain text")
_REASON = _like(r"[a-z][a-z0-9_]{0,59}", "a short name")
_KEY = _like(r"(?:patch|meta)(?:/[a-z0-9_]{1,40}){1,4}", "the key of a request, such as patch/1/0")
_KIND = _one_of(PatchKind)
_OUTCOME = _one_of(Outcome)
_FINISH = _one_of(FINISH_REASONS)
_COST = _Rule(lambda v: v is None or _are_costs([v]), "an exact cost, such as '7/3', or null")
_TOKENS = _whole(10**15)
_USD = _number(0.0, 1e12, "a sum of money, 0 or more")
_ANY = _number()
_ANY_OR_NULL = _or_null(_ANY)
_JSON = _Rule(lambda v: True, "a value")

# -- records inside events -----------------------------------------------------------------------------------------

_USAGE: Mapping[str, _Rule | _Shape] = {
    "tokens_in": _TOKENS,
    "tokens_out": _TOKENS,
    "cost_usd": _or_null(_USD),
    "estimated": _TRUTH,
    "measured": _Shape({"latency_s": _number(-1e12, 1e12)}),
}
_SESSION = {"evaluator_version": _SHORT, "sandbox": _SHORT, "held_out": _or_null(_SHORT), "task_digest": _SHORT}
_IDENTITY = _Shape({"task": _NAME, "suite": _NAME}, {"seed": _whole(2**256, -(2**256)), "initial": _SHORT, **_SESSION})
_ORIGIN = _Shape(
    {
        "kind": _KIND,
        "model": _text(),
        "patch_name": _text(),
        "description": _text(),
        "features": _list(_text(1000), "texts", 1000),
    }
)


def _is_failure(v: Any) -> bool:
    return type(v) is list and len(v) == 3 and _INDEX.ok(v[0]) and _OUTCOME.ok(v[1]) and _text().ok(v[2])


def _is_difference(v: Any) -> bool:
    sides = (_INDEX, _text(), _OUTCOME, _COST, _OUTCOME, _COST)
    return type(v) is list and len(v) == len(sides) and all(map(lambda rule, item: rule.ok(item), sides, v))


def _is_spread(v: Any) -> bool:
    return type(v) is list and len(v) == 2 and _ANY.ok(v[0]) and _ANY.ok(v[1]) and v[0] <= v[1]


def _evaluation_fault(value: Mapping[str, Any]) -> str | None:
    """What does not agree within an evaluation: each instance has one time, and one cost or one failure."""
    measured, count = value["measured"], len(value["costs"])
    if not len(measured["cpu_ms"]) == len(measured["wall_ms"]) == count:
        return "`costs`, `cpu_ms` and `wall_ms` must be as long as each other"
    failed = [index for index, _, _ in value["failures"]]
    if failed and (len(set(failed)) < len(failed) or max(failed) >= count):
        return f"`failures` must name each of the {count} instances once at most"
    return None


_INDEX = _whole(MAX_ITEMS)
_STRICT = _Shape(
    {
        "agrees": _TRUTH,
        "classification": _or_null(_one_of(Classification)),
        "detail": _text(),
        "differences": _list(
            _Rule(_is_difference, ""), "differences: instance, how, and two outcomes with their costs"
        ),
        "skipped": _list(_text(1000), "texts", 1000),
        "order_spread": _ANY_OR_NULL,
        "order_scores": _list(_ANY, "finite numbers", 1000),
    }
)
_DIRECTION = _one_of(Direction)
_OBJECTIVE = _Shape({"metric": _text(200), "direction": _DIRECTION, "per_instance": _DIRECTION, "unit": _text(200)})
_BEST_KNOWN = _Shape({"value": _ANY, "score": _ANY_OR_NULL, "where_from": _text()})
_COST_LIST = _Rule(_are_costs, f"a list of exact costs (such as '7/3', at most {MAX_DIGITS} digits) and nulls")
_EVALUATION = _Shape(
    {
        "task": _NAME,
        "suite": _NAME,
        "outcome": _OUTCOME,
        "detail": _text(),
        "correct": _TRUTH,
        "combined_score": _ANY,
        "published_score": _ANY_OR_NULL,
        "ceiling": _ANY_OR_NULL,
        "metrics": _map(_ANY, "finite numbers"),
        "objective": _OBJECTIVE,
        "metric_bound": _ANY_OR_NULL,
        "best_known": _Rule(lambda v: v is None or _BEST_KNOWN.ok(v), "a best known value, or null"),
        "beyond": _or_null(_text()),
        "costs": _COST_LIST,
        "failures": _list(_Rule(_is_failure, ""), "failures: instance, outcome, detail"),
        "feedback": _text(),
        "sandbox": _SHORT,
        "evaluator_version": _SHORT,
        "quarantine": _or_null(_text()),
        "strict": _Rule(lambda v: v is None or _STRICT.ok(v), "the report of a strict re-evaluation, or null"),
        "measured": _Shape(
            {
                "runtime_s": _ANY,
                "peak_memory_mb": _ANY,
                "cpu_ms": _Rule(_are_times, "a list of finite numbers"),
                "wall_ms": _Rule(_are_times, "a list of finite numbers"),
            }
        ),
    },
    {"spread": _Rule(_is_spread, "two finite numbers, the smaller one first")},
    extra=_evaluation_fault,
)
_SUMMARY = _Shape(
    {
        "generation": _whole(),
        "correct": _TRUTH,
        **dict.fromkeys(("patch_name", "name", "implementation", "performance", "feedback"), _text()),
    }
)
_META_STATE = _Shape({"rounds": _whole(), "summaries": _list(_SUMMARY, "summaries of programs")})

# -- events --------------------------------------------------------------------------------------------------------

_OF_ALL: Mapping[str, _Rule | _Shape] = {
    "event": _JSON,  # the name, by which the record was found
    "seq": _whole(2**53),
    "t": _number(0, _YEAR_9999, "a time in seconds, of this era"),
}
_WHICH = {"generation": _whole(), "attempt": _whole()}
_CHOICE = {"parents": _IDS, "inspirations": _IDS, "island": _whole(MAX_ISLANDS)}


def _parent_fault(event: Mapping[str, Any]) -> str | None:
    return None if event["parents"] else "`parents` must name the program that is to be changed"


def _event(
    required: Mapping[str, _Rule | _Shape],
    optional: Mapping[str, _Rule | _Shape] | None = None,
    extra: Callable[[Any], str | None] | None = None,
) -> _Shape:
    return _Shape({**_OF_ALL, **required}, optional or {}, extra)


EVENTS: Final[Mapping[str, _Shape]] = {
    "created": _event(
        {"format": _JSON, "identity": _IDENTITY, "config": _SHA256},
        {"run_id": _like(r"[0-9a-f]{32}", "32 digits of hex")},
    ),
    "asked": _event(
        {
            **_WHICH,
            **_CHOICE,
            "kind": _KIND,
            "model": _text(),
            "prompt": _ID_OR_NULL,
            "attempts": _ID_OR_NULL,
            "estimate_usd": _USD,
            "position": _whole(),
        },
        {
            "guidance": _Shape({"document": _whole(), "recommendation": _whole()}),
            "shortened": _TRUTH,
            "instead_of": _text(),
        },
        _parent_fault,
    ),
    "called": _event(
        {
            **_USAGE,
            "key": _KEY,
            "call": _whole(),
            "phase": _one_of(("calling", "failed", "answered")),
            "status": _one_of({"calling", *FAILURE_REASONS, *FINISH_REASONS}),
            "model": _text(),
            "http_status": _or_null(_whole(999)),
            "message": _text(),
        }
    ),
    "answered": _event(
        {**_USAGE, **_WHICH, "answer": _ID_RULE, "attempts": _ID_RULE, "finish_reason": _FINISH},
        {"reasoning": _ID_RULE},
    ),
    "refused": _event(
        {
            **_WHICH,
            "status": _one_of((Status.REFUSED, Status.DUPLICATE, Status.FAILED)),
            "reason": _REASON,
            "message": _text(),
            "final": _TRUTH,
        },
        {"duplicate_of": _whole()},
    ),
    "evaluated": _event(
        {
            **_WHICH,
            **_CHOICE,
            "commit": _ID_RULE,
            "origin": _ORIGIN,
            "source_hash": _like(r"[0-9A-Za-z]{1,128}", "a hash"),
            "evaluation": _EVALUATION,
        }
    ),
    "held_out": _event(
        {
            "generation": _whole(),
            "suite": _NAME,
            "outcome": _OUTCOME,
            "correct": _TRUTH,
            "combined_score": _ANY,
            **dict.fromkeys(("ceiling", "gap", "value", "value_gap"), _ANY_OR_NULL),
            "quarantine": _or_null(_text()),
            "costs": _COST_LIST,
            "overfitted": _or_null(_text()),
        }
    ),
    "fresh": _event(
        {
            "generation": _whole(),
            "suite": _NAME,
            "seed": _SHORT,
            **dict.fromkeys(("better", "equal", "worse"), _whole(MAX_ITEMS)),
            "overfitted": _or_null(_text()),
        }
    ),
    "lost": _event(_WHICH),
    "rescored": _event({"generation": _whole(), "evaluation": _EVALUATION}),
    "summarising": _event({"programs": _whole(), "position": _whole()}),
    "meta_answered": _event(
        {**_USAGE, "key": _KEY, **dict.fromkeys(("prompt", "answer", "attempts"), _ID_RULE), "finish_reason": _FINISH}
    ),
    "summarised": _event(
        {
            "programs": _whole(),
            "state": _META_STATE,
            **dict.fromkeys(("document", "attempts"), _ID_OR_NULL),
            **dict.fromkeys(("corrections", "problems"), _list(_text(), "texts")),
        }
    ),
    "resumed": _event(
        {"changed": _map(_JSON, "values")},
        {"config": _SHA256, "identity": _Shape({}, _SESSION), "rescore": _list(_whole(), "generations")},
    ),
    "stopped": _event({"reason": _REASON}),
}


def require_sound(event: Mapping[str, Any]) -> None:
    """Raise ValueError, saying which field of an event is what and must be what, unless all of them are sound."""
    shape = EVENTS.get(event["event"])
    if shape is None:
        raise ValueError(f"{event['event']!r:.40} is no event that this version of evolve knows")
    found = shape.fault(event, "")
    if found is not None:
        raise ValueError(found)
