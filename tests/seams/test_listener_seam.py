"""What every listener promises, for each that there is: it takes whatever a run tells, and lets nobody write to it."""

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import get_args

import pytest

from evaluator.evaluation import Outcome
from evaluator.remote import WorkerActivity, WorkerState
from evolve.archive.events import HeldOutEvent, WorkerChange, WorkerEvent
from evolve.archive.records import Funnel, ProgramRecord
from evolve.cli.live import LiveScreen, PlainScreen
from evolve.core.completion import Adaptation
from evolve.core.program import PatchKind
from evolve.core.usage import Spending
from evolve.progress import (
    Adapted,
    Checking,
    Confirmed,
    Evaluated,
    Event,
    Failed,
    MachineFailed,
    Phase,
    Progress,
    Refused,
    ServerTrouble,
    Stopping,
    Summarised,
    TaskFailed,
    Warned,
    WorkerChanged,
)
from evolve.seams import Listener

HOSTILE = "red \x1b[31m\r\n\u202e\ud800 [bold]markup[/bold] " + "x" * 100_000
MakeRecord = Callable[..., ProgramRecord]


@contextmanager
def plain() -> Iterator[tuple[Listener, Callable[[], str]]]:
    stream = io.StringIO()
    with PlainScreen(stream) as screen:
        yield screen, stream.getvalue


@pytest.fixture(params=["plain", "live"])
def listener(
    request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> Iterator[tuple[Listener, Callable[[], str]]]:
    """A listener, and what it has shown so far."""
    if request.param == "plain":
        with plain() as made:
            yield made
        return
    shown: list[str] = []

    def so_far() -> str:
        shown.append(capsys.readouterr().out)
        return "".join(shown)

    with LiveScreen("evolve climb/three") as screen:
        yield screen, so_far


def held_out_event(suite: str, *, correct: bool) -> HeldOutEvent:
    return HeldOutEvent(
        generation=1,
        suite=suite,
        outcome=Outcome.OK if correct else Outcome.EXCEPTION,
        correct=correct,
        combined_score=20.5 * correct,
        ceiling=26.0 if correct else None,
        gap=5.5 if correct else None,
        value=1.0,
        value_gap=None,
        quarantine=None,
        costs=(),
        overfitted=None,
    )


def every_event(record: MakeRecord, text: str) -> list[Event]:
    """Each kind of event, and each way to be evaluated."""
    held_out = held_out_event(text, correct=True)
    best = record(1, 22.0, name=text)
    worse = record(2, 21.0, name=text)
    return [
        Evaluated(record=record(0, kind=PatchKind.INITIAL), detail="", parent_score=None),
        Evaluated(record=best, detail="", parent_score=21.5, provisional=True),
        Confirmed(record=best, detail="", is_best=True, held_out=held_out),
        Evaluated(record=worse, detail="", parent_score=21.5),
        Evaluated(record=record(3, 0.5, outcome=Outcome.EXCEPTION), detail=text, parent_score=21.5),
        Confirmed(record=record(4, 23.0, outcome=Outcome.NONDETERMINISTIC), detail=text, is_best=False),
        Evaluated(record=record(5, 50.0, quarantine=text), detail="", parent_score=21.5),
        Confirmed(record=record(6, 50.0, quarantine=text), detail="", is_best=False),
        Confirmed(record=record(7, 22.5, ceiling=None), detail="", is_best=True),
        Refused(generation=7, reason="no_match", message=text, final=False),
        Refused(generation=7, reason="no_match", message=text, final=True),
        Failed(generation=8, reason="timeout", message=text),
        Adapted(changes=(Adaptation(model=text, parameter="temperature", change="dropped"),)),
        ServerTrouble(model=text, reason="rate_limited", message=text, failed=2, waiting=4, next_try_s=14.2),
        ServerTrouble(model=text, reason="server_error", message=text, failed=16, tries=(4, 5), next_try_s=0.0),
        ServerTrouble(model=text, reason="silent", message="no answer", waiting=1, silent_s=46.0, gives_up_s=300.0),
        Summarised(programs=10, problems=()),
        Summarised(programs=20, problems=(text,)),
        Stopping(answers=0),
        Stopping(answers=3, longest_s=200.0),
        Warned(message=text),
        TaskFailed(message=text),
        MachineFailed(generation=9, message=text),
        *(
            WorkerChanged(event=WorkerEvent(worker=text, host=text, change=change, level="strong", why=text))
            for change in WorkerChange
        ),
        Checking(generation=1, what="on 10 fresh instances", longest_s=600.0),
    ]


def every_progress(record: MakeRecord, text: str) -> list[Progress]:
    phases = tuple(
        Phase(generation=number, name=name, since_s=1.5)
        for number, name in [(1, "asking"), (2, "evaluating"), (3, "confirming"), (None, "summarising")]
    )
    return [
        Progress(finished=0, generations=None, in_flight=0, best=None, ceiling=None, elapsed_s=0.0, time_left_s=None),
        Progress(
            finished=12,
            generations=100,
            in_flight=3,
            best=record(1, 22.0, name=text),
            held_out=held_out_event(text, correct=False),
            ceiling=26.0,
            funnel=Funnel(answered=12, applied=10, new=9, correct=8, improved=2),
            phases=phases,
            troubles=(ServerTrouble(model=text, reason="timeout", message=text, failed=1),),
            spent=Spending(calls=3, tokens_in=900, tokens_out=50, known_usd=0.1234),
            workers=[
                WorkerState(
                    name=text, host=text, level="strong", state=state, why=text * (state is WorkerActivity.LOST), done=3
                )
                for state in WorkerActivity
            ],
            elapsed_s=7300.0,
            time_left_s=12.0,
        ),
    ]


def test_there_is_one_of_every_kind(make_record: MakeRecord) -> None:
    assert {type(event) for event in every_event(make_record, "")} == set(get_args(Event))


def test_it_takes_whatever_a_run_tells(listener: tuple[Listener, Callable[[], str]], make_record: MakeRecord) -> None:
    events, shown = listener
    for progress in every_progress(make_record, "a_patch"):
        events.tick(progress)
        for event in every_event(make_record, "a_patch"):
            events.tell(event, progress)
            events.tick(progress)
    text = shown()
    for words in ("new best", "WARNING", "QUARANTINED", "initial program", "insights report after 10 programs"):
        assert words in text


def test_what_a_person_has_to_know_is_said(
    listener: tuple[Listener, Callable[[], str]], make_record: MakeRecord
) -> None:
    events, shown = listener
    (progress, _) = every_progress(make_record, "a_patch")
    for event in (
        Warned(message="look here"),
        Failed(generation=8, reason="timeout", message="no whole answer"),
        Stopping(answers=3),
    ):
        events.tell(event, progress)
    text = " ".join(shown().split())
    for words in ("look here", "no whole answer", "Ctrl-C quits now"):
        assert words in text


def test_what_the_tasks_own_code_does_wrong_is_said_at_once(
    listener: tuple[Listener, Callable[[], str]], make_record: MakeRecord
) -> None:
    events, shown = listener
    events.tell(TaskFailed(message="judge.py raised"), every_progress(make_record, "a_patch")[0])
    assert "judge.py raised" in shown()


def test_no_text_of_a_model_or_a_program_controls_the_terminal(
    listener: tuple[Listener, Callable[[], str]], make_record: MakeRecord
) -> None:
    events, shown = listener
    for progress in every_progress(make_record, HOSTILE):
        for event in every_event(make_record, HOSTILE):
            events.tell(event, progress)
        events.tick(progress)
    text = shown()
    assert not set(text) & {"\x1b", "\r", "\u202e", "\ud800"}
    assert len(text) < 60_000
    assert "[bold]" in text, "and it is no markup"
