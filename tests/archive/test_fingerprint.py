"""Equal archives have equal fingerprints, and what differs in anything but time has another."""

import copy
from typing import Any

import pytest

from evolve.archive.fingerprint import fingerprint

REFS = {"refs/heads/best": "a" * 40}
EVENTS: list[dict[str, Any]] = [
    {"seq": 0, "t": 1.5, "event": "created", "identity": {"seed": 0}},
    {"seq": 1, "t": 1.6, "event": "asked", "generation": 1, "attempt": 0, "prompt": "p"},
    {"seq": 2, "t": 1.7, "event": "answered", "generation": 1, "attempt": 0, "measured": {"latency_s": 1.0}},
    {
        "seq": 3,
        "t": 1.8,
        "event": "evaluated",
        "generation": 1,
        "attempt": 0,
        "evaluation": {"score": 1.0, "detail": "x", "measured": {"runtime_s": 0.5}},
    },
]


def _changed(change: Any) -> str:
    events = copy.deepcopy(EVENTS)
    change(events)
    return fingerprint(events, REFS)


@pytest.mark.parametrize(
    "change",
    [
        lambda e: e[1].update(t=99.0, seq=12),
        lambda e: e[2].update(measured={"latency_s": 7.0}),
        lambda e: e[3]["evaluation"].update(measured={}),
        lambda e: e.insert(2, {"event": "resumed"}),
        lambda e: e[3].update(certificate="c" * 40),
        lambda e: e.append({"event": "stopped", "reason": "generations"}),
        lambda e: e.insert(2, {"event": "lost", "generation": 1, "attempt": 0}),
        lambda e: e.insert(2, {"event": "machine_lost", "generation": 1, "attempt": 0, "why": "two workers died"}),
        lambda e: e.insert(2, {"event": "worker", "worker": "w", "host": "h", "change": "joined"}),
        lambda e: e[3].update(on={"host": "h", "worker": "w"}),
        lambda e: e.insert(1, {"event": "asked", "generation": 1, "attempt": 0, "prompt": "an earlier one, cut off"}),
    ],
)
def test_time_and_sessions_do_not_count(change: Any) -> None:
    assert _changed(change) == fingerprint(EVENTS, REFS)


@pytest.mark.parametrize(
    "change",
    [
        lambda e: e[0]["identity"].update(seed=1),
        lambda e: e[1].update(prompt="q"),
        lambda e: e[3]["evaluation"].update(score=1.0000001),
        lambda e: e[3]["evaluation"].update(detail="y"),
        lambda e: e.pop(),
        lambda e: e.insert(1, {"event": "asked", "generation": 1, "attempt": 1, "prompt": "p"}),
        lambda e: e.reverse(),
    ],
)
def test_everything_else_does(change: Any) -> None:
    assert _changed(change) != fingerprint(EVENTS, REFS)


def test_a_question_that_is_asked_again_counts_where_it_was_asked_first() -> None:
    first = {"event": "asked", "generation": 1, "attempt": 0, "prompt": "as it was then"}
    other = {"event": "asked", "generation": 2, "attempt": 0, "prompt": "another"}
    again = {**first, "prompt": "as it is now"}
    assert fingerprint([first, other, again], REFS) == fingerprint([again, other], REFS)
    assert fingerprint([first, other, again], REFS) != fingerprint([other, again], REFS)


def test_refs_count() -> None:
    assert fingerprint(EVENTS, {}) != fingerprint(EVENTS, REFS) != fingerprint(EVENTS, {"refs/heads/best": "b" * 40})
