"""When two archives are equal: a hash over what a run decided and found, and over nothing that a clock measured."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from evolve.archive.refs import CERTIFICATES

_OF_THE_SESSION = frozenset(
    {"resumed", "stopped", "lost", "called", "fresh", "reordered", "noted", "closed", "summarising", "tuning_baseline"}
    | {"audited", "remeasured"}
)
_OF_THE_CLOCK = frozenset({"seq", "t", "measured"})
_OF_ONE_RUN = frozenset({"run_id"})  # random, so that a user's own runs are known again
_OF_THE_MACHINE = frozenset({"certificate"})  # an answer of equal cost may be another one
_OF_THE_LIMITS = frozenset({"config", "provisional"})  # how long a run may go on does not make it another one
_OF_CONFIRMATIONS = frozenset({"rescored", "held_out"})  # of which a limit decides when they are recorded


def fingerprint(events: Iterable[Mapping[str, Any]], refs: Mapping[str, str]) -> str:
    """The sha256, in hex, of refs and events.

    Left out are `seq`, `t` and `measured` (also of an evaluation), and events about sessions (resumed, stopped, lost,
    called, closed), measurements after the search (reordered, remeasured, tuning_baseline, audited), calls for a report
    that were begun (summarising; their answers count), instances drawn at random (fresh) and notes of people (noted).
    So are certificates: at equal costs, a program may answer otherwise on another machine. A question that was asked
    again after a crash counts once, with its last content at its first place: other generations may have ended in
    between.
    Confirmations count after all other events: `position` says which of them a choice knew.
    """
    digests: list[bytes] = []
    confirmations: list[bytes] = []
    asked: dict[tuple[int, int], int] = {}
    for event in events:
        name = event["event"]
        if name in _OF_THE_SESSION:
            continue
        if name == "asked":
            question = (event["generation"], event["attempt"])
            if question in asked:
                digests[asked[question]] = _digest(_timeless(event))
                continue
            asked[question] = len(digests)
        (confirmations if name in _OF_CONFIRMATIONS else digests).append(_digest(_timeless(event)))
    kept = {name: commit for name, commit in refs.items() if name != CERTIFICATES}
    total = hashlib.sha256(_digest(kept))
    for digest in digests + confirmations:
        total.update(digest)
    return total.hexdigest()


def _timeless(event: Mapping[str, Any]) -> dict[str, Any]:
    left_out = _OF_THE_CLOCK | _OF_THE_LIMITS | _OF_ONE_RUN | _OF_THE_MACHINE
    kept = {key: value for key, value in event.items() if key not in left_out}
    if isinstance(kept.get("evaluation"), dict):
        kept["evaluation"] = {key: value for key, value in kept["evaluation"].items() if key not in _OF_THE_CLOCK}
    return kept


def _digest(value: Mapping[str, Any]) -> bytes:
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii")).digest()
