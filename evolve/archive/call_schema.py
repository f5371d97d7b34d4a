"""What events tell of calls to models: what was adapted and cached, why of which model, and what a search took."""

from collections.abc import Mapping
from typing import Any

from evolve.archive.rules import MAX_ITEMS, Rule, Shape, number, one_of, text, whole

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
    if "sampled" in event and event["phase"] != "calling":
        return "`sampled` must stand where the call is announced"
    if "adapted" in event and event["phase"] != "failed":
        return "`adapted` must stand where the call failed"
    return None


def cached_fault(event: Mapping[str, Any]) -> str | None:
    """Whether more was in the cache than was sent, in words."""
    known = event.get("tokens_cached", 0) <= event["tokens_in"]
    return None if known else "`tokens_cached` must be no more than `tokens_in`"
