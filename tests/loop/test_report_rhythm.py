"""When insights reports begin and come into force, by the record: in virtual time, eight proposals in flight."""

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from evolve.loop.executor import Job, JobKind
from tests.loop.by_hand import begun
from tests.loop.climbing import configure, events, patch, script
from tests.loop.metas import INSIGHTS
from tests.loop.virtual import VirtualExecutor

EVERY, PROPOSALS, PARALLEL = 5, 30, 8
REPORT = {"summaries": "## Generation 1\n- **Implementation**: a step.\n", "insights": INSIGHTS}


class Rounds(NamedTuple):
    """What a journal says of each round: how many programs waited for it when it began, and how many proposals and
    programs, the one that made it due included, came before it began. `between`: how many programs came before the
    first report, between it and the next, and so on; `left`: how many waited at the end."""

    waiting: list[int]
    delays: list[int]
    between: list[int]
    left: int


def play(folder: Path, *, report_s: float, report: dict[str, Any] = REPORT) -> list[dict[str, Any]]:
    """A run whose answers take 2 to 4 seconds, some of them at the same moment."""

    def takes(job: Job) -> float:
        match job.kind:
            case JobKind.SUMMARISE:
                return report_s
            case JobKind.ASK:
                return 2.0 + (job.generation or 0) % 3
        return 0.5

    answers = [patch(0.5 + number / 1000, name=f"step_{number}") for number in range(PROPOSALS)]
    models = [script(folder, answers, [report] * PROPOSALS)]
    config = configure(folder, models=models, generations=PROPOSALS, parallel=PARALLEL, meta_every=EVERY)
    with begun(folder / "runs" / "r", config) as run:
        run.executor = VirtualExecutor(takes)
        run.go()
    return events(folder)


def rounds(journal: list[dict[str, Any]], *, later: int) -> Rounds:
    """The rounds of a run, of which all but the first are about at least `later` proposals."""
    waiting, delays, between = list[int](), list[int](), list[int]()
    asked = programs = asked_in_force = programs_in_force = programs_begun = delay = 0
    under_way, needed = False, EVERY
    for event in journal:
        match event["event"]:
            case "asked":
                asked += 1
            case "evaluated":
                programs += 1
            case "summarising" if not under_way:
                waiting.append(programs - programs_begun)
                delays.append(delay)
                under_way, programs_begun, delay = True, programs, 0
            case "summarised":
                between.append(programs - programs_in_force)
                under_way, asked_in_force, programs_in_force, needed = False, asked, programs, later
        if event["event"] in ("asked", "evaluated") and not under_way:
            enough = needed if asked - asked_in_force >= needed else 3 * EVERY
            delay += delay > 0 or programs - programs_begun >= enough
    return Rounds(waiting, delays, between, programs - programs_begun)


@pytest.mark.parametrize("report_s", [0.5, pytest.param(1.5, marks=pytest.mark.slow)])
def test_a_report_comes_into_force_at_least_every_twice_meta_every_programs(tmp_path: Path, report_s: float) -> None:
    """As long as no more than `meta_every` programs are evaluated while one is written."""
    output = rounds(play(tmp_path, report_s=report_s), later=EVERY)
    assert len(output.between) >= 3
    assert max(output.between) <= 2 * EVERY
    assert max(*output.waiting, output.left) <= 3 * EVERY
    assert set(output.delays) == {1}, "each begins at the very event that makes it due"


@pytest.mark.slow
def test_after_a_report_that_takes_longer_than_the_programs_the_next_one_begins_at_once(tmp_path: Path) -> None:
    """No proposal waits for a report. So more programs than usual come before the next one."""
    output = rounds(play(tmp_path, report_s=6.0), later=EVERY)
    assert max(output.between) > 2 * EVERY, "else this shows nothing"
    assert len(output.waiting) >= 2
    assert max(output.delays) <= 1


@pytest.mark.slow
def test_after_a_round_of_three_calls_the_next_one_is_about_as_many_proposals_as_keep_calls_to_a_fifth(
    tmp_path: Path,
) -> None:
    report = {"summaries": REPORT["summaries"], "insights/1/0": "", "insights/1/1": INSIGHTS}
    output = rounds(play(tmp_path, report_s=0.5, report=report), later=6)
    assert min(output.waiting[1:]) >= 6
    assert max(output.between) <= 2 * EVERY
    assert set(output.delays) == {1}
