"""Which worker gets a program: decisions without a clock, a thread or a network."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.remote import Versions, WorkerActivity, WorkerReport
from evaluator.untrusted import one_line
from evolve.archive.events import WorkerChange, WorkerEvent, document_of, read_event
from evolve.cluster.describing import calibrate, refusal
from evolve.cluster.frames import SeenWorker, short_name
from evolve.cluster.roster import Member, Roster

VERSIONS = Versions(evolve="1+a", evaluator="3-b", python="3.11", packages=("numpy 2.0",))
HEAD = WorkerReport(worker="head", host="home", versions=VERSIONS, level="standard", cores=2, calibration_cpu_s=0.02)
NONE: frozenset[str] = frozenset()


def seen(number: int, machine: str = "m", silent_s: float = 0.0) -> SeenWorker:
    return SeenWorker(address=f"tcp://{machine}:{number}", name=f"w{number}", host=machine, silent_s=silent_s)


def opened(*workers: SeenWorker, level: str = "standard") -> Roster:
    """A roster that has accepted these workers."""
    roster = Roster(HEAD, level, 60)
    roster.see(workers)
    while members := [*roster.to_open()]:
        for number, member in enumerate(members):
            roster.open(member, number)
            roster.end(member, number)
            roster.opened(member, replace(HEAD, worker=member.name, host=member.machine))
    return roster


def activities(roster: Roster) -> list[WorkerActivity]:
    return [worker.state for worker in roster.states(0.0)]


def picked(roster: Roster, avoid: frozenset[str] = NONE, only: str | None = None) -> Member:
    member = roster.pick(avoid, only)
    assert member is not None
    return member


@given(st.lists(st.text() | st.text(min_size=50, max_size=90) | st.text("\x1b\u202e", min_size=10), max_size=8))
def test_no_two_workers_have_one_name(names: list[str]) -> None:
    short = {name: short_name(name) for name in names}
    assert len({*short.values()}) == len(short)
    assert all(short.values())
    assert all(one_line(name, 61) == name and len(name) <= 61 for name in short.values())
    assert {short_name(name) for name in short.values() if len(name) == 61}.isdisjoint(short.values())


@pytest.mark.parametrize("text", ["", 60 * "\x1b", 10_000 * "a"], ids=["empty", "control", "long"])
def test_a_host_and_a_level_fit_into_an_event_whatever_a_worker_reports(text: str) -> None:
    roster = Roster(HEAD, "standard", 60)
    roster.see([seen(1)])
    (member,) = roster.to_open()
    roster.open(member, 1)
    roster.opened(member, replace(HEAD, host=text, level=text))
    (worker,) = roster.states(0.0)
    assert worker.state is WorkerActivity.REFUSED
    document = document_of(WorkerEvent(worker="w1", host=worker.host, change=WorkerChange.REFUSED, level=worker.level))
    assert read_event(document | {"seq": 1, "t": 1.0})


def test_workers_that_come_and_go_for_ever_are_forgotten() -> None:
    roster = opened(seen(1))
    for number in range(2, 2000):
        roster.see([seen(1), seen(number)])
    assert len(roster.states(0.0)) == 1002
    assert picked(roster).name == "w1"


def test_one_worker_of_a_machine_reports_at_a_time() -> None:
    roster = Roster(HEAD, "standard", 60)
    roster.see([seen(1, "a"), seen(2, "a"), seen(3, "b")])
    first = [*roster.to_open()]
    assert [member.name for member in first] == ["w1", "w3"]
    for number, member in enumerate(first):
        roster.open(member, number)
    assert [*roster.to_open()] == []
    roster.opened(first[0], HEAD)
    assert [member.name for member in roster.to_open()] == ["w2"]


def test_a_busy_worker_gets_nothing_and_a_lost_one_loses_its_calls() -> None:
    roster = opened(seen(1), seen(2))
    first, second = picked(roster), picked(roster, frozenset({"w1"}))
    roster.start(first, 7, 0.0)
    roster.start(second, 8, 0.0)
    assert roster.pick(NONE, None) is None
    assert roster.see([seen(1)]) == {8}
    roster.end(first, 7)
    assert picked(roster) is first
    assert [(worker.done, worker.state) for worker in roster.states(60.0)] == [
        (1, WorkerActivity.IDLE),
        (0, WorkerActivity.LOST),
    ]
    assert roster.states(60.0)[0].per_minute == 1.0


def test_a_silent_worker_is_lost_until_it_is_heard_again() -> None:
    roster = opened(seen(1))
    roster.start(picked(roster), 3, 0.0)
    assert roster.see([seen(1, silent_s=61)]) == {3}
    assert activities(roster) == [WorkerActivity.LOST]
    roster.see([seen(1)])
    assert activities(roster) == [WorkerActivity.NEW]


def test_a_worker_may_be_avoided_or_the_only_one() -> None:
    roster = opened(seen(1, "a"), seen(2, "b"))
    assert picked(roster, avoid=frozenset({"a"})).name == "w2"
    assert picked(roster, only="b").name == "w2"
    assert picked(roster, only="w1").name == "w1"
    assert picked(roster, avoid=frozenset({"a", "b"})).name == "w1", "there is no other"
    roster.start(picked(roster, only="w2"), 1, 0.0)
    assert roster.pick(frozenset({"a"}), None) is None, "it waits for the other one"
    assert not roster.has("w3")


def test_an_expelled_worker_stays_expelled_when_it_comes_again() -> None:
    roster = opened(seen(1))
    roster.expel("w1", "it lied")
    assert roster.pick(NONE, None) is None
    roster.see([])
    roster.see([replace(seen(1), address="tcp://m:99")])
    assert [(worker.name, worker.state, worker.why) for worker in roster.states(0.0)][-1] == (
        "w1",
        WorkerActivity.EXPELLED,
        "it lied",
    )
    assert [*roster.to_open()] == []


@given(steps=st.lists(st.tuples(st.sets(st.integers(1, 4)), st.booleans()), max_size=8))
def test_a_call_is_never_with_two_workers(steps: list[tuple[set[int], bool]]) -> None:
    roster, number, lost = opened(*map(seen, range(1, 5))), 0, set[int]()
    running: dict[int, Member] = {}
    for there, begins in steps:
        now_lost = roster.see([seen(worker) for worker in sorted(there)])
        assert not now_lost & lost
        lost |= now_lost
        for call in now_lost:
            del running[call]
        for member in [*roster.to_open()]:
            roster.open(member, -1)
            roster.end(member, -1)
            roster.opened(member, HEAD)
        member_or_none = roster.pick(NONE, None)
        if begins and member_or_none is not None:
            number += 1
            roster.start(member_or_none, number, 0.0)
            running[number] = member_or_none
        assert len({member.address for member in running.values()}) == len(running)


@pytest.mark.parametrize(
    ("report", "words"),
    [
        (HEAD, ""),
        (replace(HEAD, level="strong"), ""),
        (replace(HEAD, calibration_cpu_s=0.03), ""),
        (replace(HEAD, level="none"), "sandbox level is none"),
        (replace(HEAD, level="great"), "sandbox level is great"),
        (replace(HEAD, calibration_cpu_s=0.0301), "30 ms of CPU time for what takes 20 ms here"),
        (replace(HEAD, calibration_cpu_s=0.0), "0 ms"),
        (replace(HEAD, versions=replace(VERSIONS, python="3.12")), "Python differs: 3.12 there, 3.11 here"),
        (replace(HEAD, versions=replace(VERSIONS, packages=())), "its packages differs: none there, numpy 2.0 here"),
        (replace(HEAD, versions=replace(VERSIONS, evaluator="3-c")), "the evaluator of this task differs"),
        (replace(HEAD, versions=replace(VERSIONS, evolve="1+b")), "evolve differs: 1+b there, 1+a here"),
    ],
)
def test_a_worker_that_differs_is_refused(report: WorkerReport, words: str) -> None:
    why = refusal(report, HEAD, "standard")
    assert words in why
    assert bool(why) is bool(words)


def test_calibration_is_some_cpu_time() -> None:
    assert 0 < calibrate() < 5
