"""What each event of a journal holds: every field with its type and range, looked at before anything acts on it.

An archive may be somebody else's. A number that is a text would become a part of a path, an id that is none a path of
its own, a score that is not finite would rank. So a record is what this table says, or it is refused in one sentence;
a field that the table does not know is refused too. The table is written by hand, so that it is quick: 0.26 s of CPU
for the events of 10,000 programs of 50 instances each.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from evaluator.evaluation import Classification, Outcome
from evaluator.objective import Direction
from evaluator.sandbox.protocol import ProtocolError, check_depth
from evolve.archive.records import FreshState, Status
from evolve.archive.reports import Round
from evolve.archive.rules import MAX_ITEMS, Rule, Shape, like, list_of, map_of, number, one_of, or_null, text, whole
from evolve.completion import FAILURE_REASONS, FINISH_REASONS, REQUEST_KEY, CallPhase, Followed
from evolve.program import PatchKind

PICKED = Shape(
    {"by": one_of(("bandit", "trial"))},
    {
        "proposals": whole(),
        "reward": number(0.0, 1.0, "a share"),
        "cost": number(0.0, 1e15, "a cost, 0 or more"),
        "unit": one_of(("usd", "tokens", "proposals")),
    },
)
TUNING = Shape(dict.fromkeys(("evaluations", "numbers", "dropped", "changed"), whole(MAX_ITEMS)))


def _adaptation_fault(value: Mapping[str, Any]) -> str | None:
    if (value["to"] is None) != (value["change"] == "dropped"):
        return "`to` must say what takes its place, and nothing does of what was dropped"
    return None


_NUMBER = number()
_SENT = Rule(
    lambda v: v is None or v is True or v is False or _NUMBER.ok(v) or text(200).ok(v), "a number, a short text or null"
)
ADAPTATION = Shape(
    {
        "model": text(),
        "parameter": text(200),
        "change": one_of(("dropped", "renamed", "replaced")),
        "value": _SENT,
        "to": _SENT,
    },
    extra=_adaptation_fault,
)


def call_fault(event: Mapping[str, Any]) -> str | None:
    """What of an event `called` stands where it cannot; None if nothing does."""
    if "sampled" in event and event["phase"] != CallPhase.CALLING:
        return "`sampled` must stand where the call is announced"
    if "adapted" in event and event["phase"] != CallPhase.FAILED:
        return "`adapted` must stand where the call failed"
    return None


def cached_fault(event: Mapping[str, Any]) -> str | None:
    """Whether more was in the cache than was sent, in words."""
    known = event.get("tokens_cached", 0) <= event["tokens_in"]
    return None if known else "`tokens_cached` must be no more than `tokens_in`"


MAX_ISLANDS: Final = 10**6
MAX_NOTE: Final = 10_000
"""Characters of a note."""
MAX_DIGITS: Final = 4300
"""Digits of the numerator or the denominator of a cost: what Python reads and writes."""

_YEAR_9999: Final = 253402300799
_ID = re.compile(r"[0-9a-f]{40}")
_COSTS = re.compile(rf"(?:-?[0-9]{{1,{MAX_DIGITS}}}(?:/0*[1-9][0-9]{{0,{MAX_DIGITS}}})? )*")


def _are_costs(value: Any) -> bool:
    """One regular expression over all of them: this runs for every instance of every program."""
    if type(value) is not list or len(value) > MAX_ITEMS or not set(map(type, value)) <= {str, type(None)}:
        return False
    joined = "".join([f"{cost} " for cost in value if cost is not None])
    return _COSTS.fullmatch(joined) is not None and joined.count(" ") == len(value) - value.count(None)


def _are_times(value: Any) -> bool:
    if type(value) is not list or len(value) > MAX_ITEMS or not set(map(type, value)) <= {float, int}:
        return False
    return not value or (min(value) >= -1e12 and max(value) <= 1e12)


_TRUTH = Rule(lambda v: v is True or v is False, "true or false")
_ID_RULE = Rule(lambda v: type(v) is str and _ID.fullmatch(v) is not None, "the id of an object (40 digits of hex)")
_ID_OR_NULL = or_null(_ID_RULE)
_IDS = list_of(_ID_RULE, "ids of objects (40 digits of hex)", 1000)
_SHA256 = like(r"[0-9a-f]{64}", "a sha256 (64 digits of hex)")
_NAME = like(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}", "a plain name of at most 100 letters, digits, '_', '-' and '.'")
_SHORT = like(r"[A-Za-z0-9_.:/+ -]{0,200}", "a short plain text")
_REASON = like(r"[a-z][a-z0-9_]{0,59}", "a short name")
_KEY = like(REQUEST_KEY, "the key of a request, such as patch/1/0")
_KIND = one_of(PatchKind)
_OUTCOME = one_of(Outcome)
_FINISH = one_of(FINISH_REASONS)
_FOLLOWED = one_of(Followed)
_COST = Rule(lambda v: v is None or _are_costs([v]), "an exact cost, such as '7/3', or null")
_TOKENS = whole(10**15)
_USD = number(0.0, 1e12, "a sum of money, 0 or more")
_ANY = number()
_ANY_OR_NULL = or_null(_ANY)
_JSON = Rule(lambda v: True, "a value")

# -- records inside events -----------------------------------------------------------------------------------------

_USAGE: Mapping[str, Rule | Shape] = {
    "tokens_in": _TOKENS,
    "tokens_out": _TOKENS,
    "cost_usd": or_null(_USD),
    "estimated": _TRUTH,
    "measured": Shape({"latency_s": number(-1e12, 1e12)}),
}
_CACHED: Mapping[str, Rule | Shape] = {"tokens_cached": _TOKENS}
_SESSION = {"evaluator_version": _SHORT, "sandbox": _SHORT, "held_out": or_null(_SHORT), "task_digest": _SHORT}
_PROGRAM_FILE = like(r"program\.[A-Za-z0-9+]{1,12}", "the name of a program's file")
_IDENTITY = Shape(
    {"task": _NAME, "suite": _NAME},
    {"seed": whole(2**256, -(2**256)), "initial": _SHORT, "program": _PROGRAM_FILE, **_SESSION},
)
_ORIGIN = Shape(
    {
        "kind": _KIND,
        "model": text(),
        "patch_name": text(),
        "description": text(),
        "features": list_of(text(1000), "texts", 1000),
    }
)


def _is_failure(v: Any) -> bool:
    return type(v) is list and len(v) == 3 and _INDEX.ok(v[0]) and _OUTCOME.ok(v[1]) and text().ok(v[2])


def _is_difference(v: Any) -> bool:
    sides = (_INDEX, text(), _OUTCOME, _COST, _OUTCOME, _COST)
    return type(v) is list and len(v) == len(sides) and all(map(lambda rule, item: rule.ok(item), sides, v))


def _is_spread(v: Any) -> bool:
    return type(v) is list and len(v) == 2 and _ANY.ok(v[0]) and _ANY.ok(v[1]) and v[0] <= v[1]


def _is_shallow(v: Any) -> bool:
    try:
        check_depth(v)
    except ProtocolError:
        return False
    return True


def _evaluation_fault(value: Mapping[str, Any]) -> str | None:
    """What does not agree within an evaluation: each instance has one time, and one cost or one failure."""
    measured, count = value["measured"], len(value["costs"])
    if not len(measured["cpu_ms"]) == len(measured["wall_ms"]) == count:
        return "`costs`, `cpu_ms` and `wall_ms` must be as long as each other"
    failed = [index for index, _, _ in value["failures"]]
    if failed and (len(set(failed)) < len(failed) or max(failed) >= count):
        return f"`failures` must name each of the {count} instances once at most"
    return None


_INDEX = whole(MAX_ITEMS)
_STRICT = Shape(
    {
        "agrees": _TRUTH,
        "classification": or_null(one_of(Classification)),
        "detail": text(),
        "differences": list_of(
            Rule(_is_difference, ""), "differences: instance, how, and two outcomes with their costs"
        ),
        "skipped": list_of(text(1000), "texts", 1000),
        "order_spread": _ANY_OR_NULL,
        "order_scores": list_of(_ANY, "finite numbers", 1000),
    }
)
_DIRECTION = one_of(Direction)
_OBJECTIVE = Shape({"metric": text(200), "direction": _DIRECTION, "per_instance": _DIRECTION, "unit": text(200)})
_BEST_KNOWN = Shape({"value": _ANY, "score": _ANY_OR_NULL, "where_from": text()})
_COST_LIST = Rule(_are_costs, f"a list of exact costs (such as '7/3', at most {MAX_DIGITS} digits) and nulls")
_EVALUATION = Shape(
    {
        "task": _NAME,
        "suite": _NAME,
        "outcome": _OUTCOME,
        "detail": text(),
        "correct": _TRUTH,
        "combined_score": _ANY,
        "published_score": _ANY_OR_NULL,
        "ceiling": _ANY_OR_NULL,
        "metrics": map_of(_ANY, "finite numbers"),
        "objective": _OBJECTIVE,
        "metric_bound": _ANY_OR_NULL,
        "best_known": Rule(lambda v: v is None or _BEST_KNOWN.ok(v), "a best known value, or null"),
        "beyond": or_null(text()),
        "costs": _COST_LIST,
        "failures": list_of(Rule(_is_failure, ""), "failures: instance, outcome, detail"),
        "feedback": text(),
        "sandbox": _SHORT,
        "evaluator_version": _SHORT,
        "quarantine": or_null(text()),
        "strict": Rule(lambda v: v is None or _STRICT.ok(v), "the report of a strict re-evaluation, or null"),
        "measured": Shape(
            {
                "runtime_s": _ANY,
                "peak_memory_mb": _ANY,
                "cpu_ms": Rule(_are_times, "a list of finite numbers"),
                "wall_ms": Rule(_are_times, "a list of finite numbers"),
            }
        ),
    },
    {
        "spread": Rule(_is_spread, "two finite numbers, the smaller one first"),
        "self_judged": _TRUTH,
        "private": Rule(_is_shallow, "a value that is not nested deeply"),
    },
    extra=_evaluation_fault,
)
_ROUND = dict.fromkeys(Round.model_fields, _JSON)

# -- events --------------------------------------------------------------------------------------------------------

_OF_ALL: Mapping[str, Rule | Shape] = {
    "event": _JSON,  # the name, by which the record was found
    "seq": whole(2**53),
    "t": number(0, _YEAR_9999, "a time in seconds, of this era"),
}
_WHICH = {"generation": whole(), "attempt": whole()}
_CHOICE = {"parents": _IDS, "inspirations": _IDS, "island": whole(MAX_ISLANDS)}


def _parent_fault(event: Mapping[str, Any]) -> str | None:
    return None if event["parents"] else "`parents` must name the program that is to be changed"


def _fresh_fault(event: Mapping[str, Any]) -> str | None:
    """What does not agree within a sample of fresh instances."""
    tried, state = event["better"] + event["equal"] + event["worse"], event["state"]
    sound = event["correct"] and event["overfitted"] is None
    agrees = {
        FreshState.HELD: sound and tried == event["instances"] > 0,
        FreshState.FAILED: not sound and tried == event["instances"] > 0,
        FreshState.PARTLY_TRIED: 0 < tried < event["instances"],
    }
    return None if agrees.get(state, tried == 0) else f"`state` {state} does not fit the instances that were tried"


def _event(
    required: Mapping[str, Rule | Shape],
    optional: Mapping[str, Rule | Shape] | None = None,
    extra: Callable[[Any], str | None] | None = None,
) -> Shape:
    return Shape({**_OF_ALL, **required}, optional or {}, extra)


EVENTS: Final[Mapping[str, Shape]] = {
    "created": _event(
        {"format": _JSON, "identity": _IDENTITY, "config": _SHA256},
        {"run_id": like(r"[0-9a-f]{32}", "32 digits of hex")},
    ),
    "asked": _event(
        {
            **_WHICH,
            **_CHOICE,
            "kind": _KIND,
            "model": text(),
            "prompt": _ID_OR_NULL,
            "attempts": _ID_OR_NULL,
            "estimate_usd": _USD,
            "position": whole(),
        },
        {
            "guidance": Shape({"document": whole()}, {"recommendation": whole()}),
            "estimate_tokens": _TOKENS,
            "shortened": _TRUTH,
            "unguided": _TRUTH,
            "instead_of": text(),
            "picked": PICKED,
            "repair": _TRUTH,
        },
        _parent_fault,
    ),
    "called": _event(
        {
            **_USAGE,
            "key": _KEY,
            "call": whole(),
            "phase": one_of(phase for phase in CallPhase if phase is not CallPhase.WAITING),
            "status": one_of({CallPhase.CALLING, *FAILURE_REASONS, *FINISH_REASONS}),
            "model": text(),
            "http_status": or_null(whole(999)),
            "message": text(),
        },
        {
            "sampled": Shape({}, {"temperature": _ANY, "effort": _REASON}),
            "adapted": list_of(ADAPTATION, "adaptations", 100),
        },
        call_fault,
    ),
    "answered": _event(
        {**_USAGE, **_WHICH, "answer": _ID_RULE, "attempts": _ID_RULE, "finish_reason": _FINISH},
        {"reasoning": _ID_RULE, "tuning": TUNING, **_CACHED},
        cached_fault,
    ),
    "refused": _event(
        {
            **_WHICH,
            "status": one_of((Status.REFUSED, Status.DUPLICATE, Status.FAILED)),
            "reason": _REASON,
            "message": text(),
            "final": _TRUTH,
        },
        {"duplicate_of": whole(), "followed": _FOLLOWED},
    ),
    "evaluated": _event(
        {
            **_WHICH,
            **_CHOICE,
            "commit": _ID_RULE,
            "origin": _ORIGIN,
            "source_hash": like(r"[0-9A-Za-z]{1,128}", "a hash"),
            "length": whole(),
            "evaluation": _EVALUATION,
        },
        {"certificate": _ID_RULE, "followed": _FOLLOWED},
    ),
    "held_out": _event(
        {
            "generation": whole(),
            "suite": _NAME,
            "outcome": _OUTCOME,
            "correct": _TRUTH,
            "combined_score": _ANY,
            "ceiling": _ANY_OR_NULL,
            "gap": _ANY_OR_NULL,
            "value": _ANY_OR_NULL,
            "value_gap": _ANY_OR_NULL,
            "quarantine": or_null(text()),
            "costs": _COST_LIST,
            "overfitted": or_null(text()),
        }
    ),
    "fresh": _event(
        {
            "generation": whole(),
            "suite": _NAME,
            "state": one_of(FreshState),
            "seed": _SHORT,
            **dict.fromkeys(("instances", "better", "equal", "worse"), whole(MAX_ITEMS)),
            "correct": _TRUTH,
            "overfitted": or_null(text()),
            "why": or_null(text()),
        },
        extra=_fresh_fault,
    ),
    "lost": _event(_WHICH),
    "rescored": _event({"generation": whole(), "evaluation": _EVALUATION}, {"certificate": _ID_RULE}),
    "summarising": _event({"programs": whole(), "position": whole()}),
    "meta_answered": _event(
        {
            **_USAGE,
            "key": _KEY,
            "prompt": _ID_RULE,
            "answer": _ID_RULE,
            "attempts": _ID_RULE,
            "finish_reason": _FINISH,
        },
        _CACHED,
        cached_fault,
    ),
    "summarised": _event({"programs": whole(), **_ROUND}, extra=Round.fault),
    "closed": _event({"programs": whole(), **_ROUND}, extra=Round.fault),
    "resumed": _event(
        {"changed": map_of(_JSON, "values")},
        {
            "config": _SHA256,
            "identity": Shape({}, _SESSION),
            "rescore": list_of(whole(), "generations"),
        },
    ),
    "stopped": _event({"reason": _REASON}),
    "excluded": _event({"generation": whole()}),
    "noted": _event({"generation": whole(), "text": text(MAX_NOTE)}),
}


def require_sound(event: Mapping[str, Any]) -> None:
    """Raise ValueError, saying which field of an event is what and must be what, unless all of them are sound."""
    shape = EVENTS.get(event["event"])
    if shape is None:
        raise ValueError(f"{event['event']!r:.40} is no event that this version of evolve knows")
    found = shape.fault(event, "")
    if found is not None:
        raise ValueError(found)
