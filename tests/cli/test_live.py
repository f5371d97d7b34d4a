"""What a person sees while a run goes on."""

import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from evolve.archive.records import Funnel
from evolve.cli.live import HEARTBEAT_S, LiveScreen, PlainScreen
from evolve.core.completion import CallEvent, CallPhase, PatchKey
from evolve.core.usage import Spending, Usage
from evolve.progress import Evaluated, Phase, Progress
from evolve.propose.troubles import Troubles

UNDER_WAY = (
    Phase(generation=12, name="asking", since_s=41.0),
    Phase(generation=13, name="evaluating", since_s=3.2),
    Phase(generation=14, name="asking", since_s=2.0),
)
PROGRESS = Progress(
    finished=11,
    generations=40,
    in_flight=3,
    phases=UNDER_WAY,
    best=None,
    ceiling=None,
    funnel=Funnel(answered=10, applied=8, new=6, correct=3, improved=1),
    elapsed_s=65.0,
    time_left_s=None,
)


@pytest.fixture
def panel():
    """The panel for a progress, as a terminal of 80 columns shows it."""

    def draw(progress: Progress) -> str:
        console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system=None)
        console.print(LiveScreen("evolve a/b")._panel(progress))
        return console.file.getvalue()

    return draw


def test_the_panel_says_which_generation_does_what_and_for_how_long(panel):
    shown = panel(PROGRESS)
    assert "asking 12 (0:41), 14 (0:02)" in shown
    assert "evaluating 13 (0:03)" in shown
    assert "11 of 40" in shown
    assert "━━━━━━━━──────────────────────" in shown
    assert "applied 80 %  new 60 %  valid 50 %  improved 17 %" in shown
    assert all(len(line) <= 80 for line in shown.splitlines())


def test_a_best_that_a_clock_measured_is_shown_with_its_spread(panel, make_record):
    best = make_record(3, 2.0, ceiling=None, spread=(1.9, 2.1))
    assert "2.000000  (1.900 to 2.100)" in panel(replace(PROGRESS, best=best))


def test_many_in_the_same_phase_are_counted(panel):
    many = tuple(Phase(generation=n, name="asking", since_s=100 - n) for n in range(64))
    assert "asking 0 (1:40), 1 (1:39), 2 (1:38), 3 (1:37) and 60 more" in panel(replace(PROGRESS, phases=many))


@pytest.mark.parametrize(
    ("cost", "says"), [(None, "cost unknown (no price is given)"), (0.5, "10 tokens in, 2 out, 0.5000 USD")]
)
def test_a_cost_that_is_not_known_is_called_so(panel, cost, says):
    spent = Spending().sent().plus(Usage(tokens_in=10, tokens_out=2, cost_usd=cost))
    assert says in panel(replace(PROGRESS, spent=spent))
    assert "spent" not in panel(PROGRESS)


def test_plain_lines_tell_of_the_one_that_takes_longest(monkeypatch):
    stream = io.StringIO()
    screen = PlainScreen(stream)
    screen._last -= HEARTBEAT_S + 1
    spent = Spending().sent().plus(Usage(tokens_in=10, tokens_out=2, cost_usd=None))
    screen.tick(replace(PROGRESS, spent=spent))
    assert "11/40 proposals" in stream.getvalue()
    assert "asking 12 (0:41)" in stream.getvalue()
    assert "cost unknown" in stream.getvalue()


def test_a_line_ends_where_its_words_end(make_record):
    stream = io.StringIO()
    initial = Evaluated(record=make_record(0, ceiling=None), detail="", parent_score=None)
    PlainScreen(stream).tell(initial, replace(PROGRESS, funnel=Funnel(), phases=()))
    assert stream.getvalue() == "[  1:05] initial program  21.500000\n"


def test_the_report_is_written_by_no_generation(panel):
    writing = (*UNDER_WAY, Phase(generation=None, name="summarising", since_s=251.0))
    shown = panel(replace(PROGRESS, phases=writing))
    assert "writing the insights report (4:11)" in shown
    assert "None" not in shown and "summarising" not in shown


def test_a_server_that_hangs_is_named_with_the_moment_at_which_its_request_is_given_up(panel):
    now = 0.0
    servers = Troubles(lambda: now)
    servers.note(PatchKey(1, 0), CallEvent(call=0, phase=CallPhase.CALLING, status="calling", model="m", limit_s=300.0))
    assert "m: no answer" not in panel(replace(PROGRESS, troubles=servers.current()))
    now = 46.0
    shown = panel(replace(PROGRESS, troubles=servers.current()))
    assert re.search(r"waiting +m: no answer for 0:46, gives up at 5:00", shown)
    servers.note(PatchKey(1, 0), CallEvent(call=0, phase=CallPhase.ANSWERED, status="stop", model="m"))
    assert "no answer" not in panel(replace(PROGRESS, troubles=servers.current()))
