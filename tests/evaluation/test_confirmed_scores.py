"""Bests are confirmed in other orders, and rank by the median: what is recorded, shown, and chosen by it."""

import csv
import io
import json
import math
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import evolve
from evaluator.evaluation import Evaluation, OrderRange
from evaluator.opening import OpenedEvaluator, open_evaluator
from evaluator.task import Suite
from evaluator.task_files import load_task
from evolve.archive.archive import Archive
from evolve.archive.ranking import paired_scores, rank_score
from evolve.archive.reader import RunReader
from evolve.cli.main import main
from evolve.evaluation.evaluators import open_evaluators
from evolve.evaluation.generalisation import try_new_orders
from evolve.loop.rerun.driving import rerun
from evolve.progress import Confirmed
from evolve.review.generations import csv_text
from evolve.review.run_view import HEAD, RunView
from evolve.review.scores import range_text
from evolve.view.payload import run_document
from tests.builders import one_file
from tests.journals import rewrite
from tests.loop.climbing import ROOT, events, finish
from tests.loop.drawing import configure

TASK = ROOT / "tests" / "data" / "luck"


def plans(own: int, other: int, width: int = 0) -> str:
    """A line after which a program answers `own` in the suite's order, and in others `other` and more."""
    return f"own, other, width = {own}, {other}, {width}"


STEPS = [
    plans(250, 244),  # 1: a new best
    plans(236, 251),  # 2: better in the suite's own order, and worse in others
    plans(246, 240),  # 3: not as good as the median of the best, so that nobody confirms it
    plans(243, 240, 1),  # 4: better than that median, and confirmed
    plans(200, 260, 3),  # 5: at the bound
]


def begin(folder: Path, *lines: str, **keys: Any) -> RunReader:
    """The record of a run with these patches."""
    finish(folder, "run", configure(folder, *lines, **{"task": str(TASK)} | keys), "--name", "r")
    return RunReader.open(folder / "runs" / "r")


def names(folder: Path) -> list[str]:
    """The events of the run, by their names."""
    return [event["event"] for event in events(folder)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """That of a run of all STEPS."""
    place = tmp_path_factory.mktemp("luck")
    begin(place, *STEPS).close()
    return place


@pytest.fixture
def archive(folder: Path) -> Iterator[RunReader]:
    with RunReader.open(folder / "runs" / "r") as found:
        yield found


def test_a_step_is_the_same_number_on_the_pages_and_in_lineage_and_show(
    folder: Path, archive: RunReader, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    columns = run_document("r", archive)["gens"]
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    scale = archive.programs[0].objective
    of_medians = [row for row in rows if row["medians"]]
    assert of_medians and any(row["change"] is not None and not row["medians"] for row in rows)
    for row in of_medians:
        program = archive.find(str(row["n"]))
        base = archive.find(str(row["base"]))
        assert row["change"] == rank_score(program) - rank_score(base)
        assert row["change"] != program.combined_score - base.combined_score
        change = f"{scale.worded(row['change'] * scale.direction.sign)} by medians"
        for command in (["lineage", "r", program.commit], ["show", "r", program.commit]):
            assert main(command) == 0
            assert change in capsys.readouterr().out
        assert main(["show", "r", program.commit, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["change"] == row["change"]


def test_a_best_has_a_range_and_the_median_of_it_decides(archive: RunReader) -> None:
    found = {record.generation: record for record in archive.programs}
    ranges = {number: one.confirmed and (one.confirmed.median, one.confirmed.n) for number, one in found.items()}
    assert {number: ranges[number] for number in range(4)} == {0: (-300, 5), 1: (-244, 5), 2: (-251, 5), 3: None}
    assert [record and record.generation for _, record in archive.best_history] == [0, 1, 4, 5]
    assert [found[number].combined_score for number in range(6)] == [-300, -250, -236, -246, -243, -200]
    assert [found[number].value for number in range(6)] == [300, 250, 236, 246, 243, 200]
    fourth = found[4].confirmed
    assert fourth is not None
    assert fourth.low is not None and fourth.median is not None and fourth.high is not None
    assert -245 <= fourth.low <= fourth.median <= fourth.high <= -240
    assert fourth.low < fourth.high


def test_programs_rank_by_it_everywhere_and_the_bound_in_the_own_order_ends_the_run(
    archive: RunReader, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert archive.finished == "ceiling"
    assert archive.best is not None
    assert (archive.best.generation, rank_score(archive.best)) == (5, -200)
    assert paired_scores(archive.best, archive.find("4")) == (-200, -243), "a median never stands against one order"
    assert main(["list", str(folder / "runs" / "r")]) == 0
    output = capsys.readouterr().out
    rows = [line.split() for line in output.splitlines() if "line_" in line or "initial_program" in line]
    assert [row[0] for row in rows if row[0].isdigit()] == ["5", "4", "1", "3", "2", "0"]
    assert "in other orders" in output
    assert "244 to 244, median 244" in output


def test_the_range_is_on_record_and_in_every_row(
    folder: Path, archive: RunReader, capsys: pytest.CaptureFixture[str]
) -> None:
    output = [event for event in events(folder) if event["event"] in ("evaluated", "rescored")]
    evaluated = {event["generation"]: event["evaluation"] for event in output}
    wanted = {"median": -244.0, "low": -244.0, "high": -244.0, "n": 5}
    assert evaluated[1]["strict"]["confirmed"] == wanted
    assert evaluated[3]["strict"] is None
    with evolve.Run(folder / "runs" / "r") as run:
        assert [row["confirmed"] for row in run.programs][1::2][:2] == [wanted, None]
    rows = list(csv.DictReader(io.StringIO(csv_text(archive))))
    assert [json.loads(rows[1]["confirmed"]), rows[3]["confirmed"]] == [wanted, ""]
    assert main(["show", str(folder / "runs" / "r"), "1"]) == 0
    assert "in 5 other orders: 244 to 244, median 244" in capsys.readouterr().out
    page = RunView(name="r", archive=archive).to_json(HEAD)
    assert page["believed"]["orders"].startswith("in 5 other orders: 26")


def test_at_its_end_the_best_is_tried_in_new_orders_which_people_are_shown(
    folder: Path, archive: RunReader, capsys: pytest.CaptureFixture[str]
) -> None:
    assert names(folder).count("reordered") == 1
    assert names(folder).index("reordered") < names(folder).index("stopped")
    (new,) = (event for event in events(folder) if event["event"] == "reordered")
    assert new["generation"] == 5
    assert new["orders"]["n"] == 5
    assert all(-275 <= new["orders"][key] <= -260 for key in ("low", "median", "high"))
    assert archive.best is not None and archive.best.confirmed is not None
    assert main(["show", str(folder / "runs" / "r"), "best"]) == 0
    assert "at the end" in capsys.readouterr().out


def test_prompts_say_what_may_be_luck(archive: RunReader) -> None:
    prompts = {one: archive.text(prompt) for one in range(1, 6) if (prompt := archive.attempts(one)[0].prompt)}
    assert "in 5 other orders of the input: 300 to 300, median 300\n" in prompts[1]
    parents = {number: archive.find(archive.attempts(number)[0].parent).generation for number in prompts}
    assert parents[3] == 2, "it leads until it is confirmed"
    assert {parents[4], parents[5]} <= {0, 1, 4}, "the lucky program is no elite"


def test_the_run_comes_again_with_its_ranges(folder: Path) -> None:
    again = rerun(folder / "runs" / "r")
    assert again.equal, again.divergence


def test_a_rerun_scores_the_new_orders_itself(tmp_path: Path, folder: Path) -> None:
    copied = shutil.copytree(folder / "runs" / "r", tmp_path / "r")

    def falsified(event: dict[str, Any]) -> None:
        if event["event"] == "reordered":
            event["orders"]["high"] += 1.0

    rewrite(copied / "journal.jsonl", falsified)
    part = rerun(copied, trust=lambda *_: True).divergence
    assert part is not None
    assert part.what == "what it scores in new orders differs"


def test_an_interrupt_waits_for_no_orders_and_resume_makes_up_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    interrupt = threading.Event()

    class Person:
        def tell(self, event: Any, progress: Any) -> None:
            if isinstance(event, Confirmed) and event.is_best:
                interrupt.set()

        def tick(self, progress: Any) -> None:
            pass

    config = configure(tmp_path, plans(250, 244, 1), task=str(TASK))
    evolve.run(config, name="r", listener=Person(), interrupt=interrupt)
    assert "reordered" not in names(tmp_path)
    _interrupted_in_the_new_orders(tmp_path / "runs" / "r")
    assert "reordered" not in names(tmp_path)
    capsys.readouterr()
    assert main(["resume", "r", "--generations", "1"]) == 0
    (new,) = (event["orders"] for event in events(tmp_path) if event["event"] == "reordered")
    low, high, median = (f"{-new[key]:.0f}" for key in ("high", "low", "median"))
    assert f"in 5 other orders: {low} to {high}, median {median}" in capsys.readouterr().out


def _interrupted_in_the_new_orders(folder: Path) -> None:
    """Ctrl-C as soon as their evaluator is open."""
    task, control, interrupt = load_task(str(TASK)), (TASK / "initial.py").read_text(), threading.Event()
    with open_evaluators(task, "six", workers=1, control=one_file(control)) as pair, Archive.open(folder) as archive:
        opened = pair.others
        assert opened is not None

        @contextmanager
        def interrupted(suite: Suite) -> Iterator[OpenedEvaluator]:
            with opened(suite) as evaluator:
                interrupt.set()
                yield evaluator

        try_new_orders(archive, task.suite("six"), interrupted, interrupt=interrupt, tell=lambda _: None)


def test_excluded_a_best_is_followed_by_the_next_median(tmp_path: Path, folder: Path) -> None:
    shutil.copytree(folder / "runs", tmp_path / "runs")
    assert main(["resume", str(tmp_path / "runs" / "r"), "--exclude", "5", "--trust"]) == 0
    with RunReader.open(tmp_path / "runs" / "r") as archive:
        assert archive.best is not None
        assert archive.best.generation == 4
    assert [event["generation"] for event in events(tmp_path) if event["event"] == "reordered"] == [5, 4]


# -- one program ----------------------------------------------------------------------------------------------------


def examined(line: str, *, suite: str = "six", seed: int = 0) -> tuple[Evaluation, OrderRange | None]:
    """The initial program with a line more, confirmed; and its range in new orders."""
    task = load_task(str(TASK))
    source = (TASK / "initial.py").read_text().replace("# next", line)
    with open_evaluator(task, task.suite(suite), workers=1, seed=seed) as evaluator:
        return evaluator.examine(one_file(source), evaluator.evaluate(one_file(source))), evaluator.in_new_orders(
            one_file(source)
        )


def test_the_seed_draws_ten_different_orders() -> None:
    """The program's answer is the order that it is asked in."""
    order = "return int('1' + ''.join(map(str, jobs)))"
    found, new = examined(order)
    other, _ = examined(order, seed=1)
    again, new_again = examined(order)
    assert (again.confirmed, new_again) == (found.confirmed, new)
    assert found.confirmed is not None and new is not None
    seen = [getattr(one, key) for one in (found.confirmed, new) for key in ("low", "median", "high")]
    assert len({found.combined_score, *seen}) == 7
    assert other.confirmed != found.confirmed


@pytest.mark.parametrize(("suite", "n"), [("two", 1), ("one", None)])
def test_tiny_instances_have_few_other_orders(suite: str, n: int | None) -> None:
    found, new = examined(plans(250, 244), suite=suite)
    assert found.correct
    assert (found.confirmed and found.confirmed.n, new) == (n, None)


def test_a_program_that_fails_in_other_orders_is_correct_and_ranks_below_every_other() -> None:
    found, _ = examined("own, other, width = 210, 220, None if jobs[0] % 2 else 0")
    assert found.correct
    assert found.confirmed is not None
    assert (found.confirmed.low, found.confirmed.high) == (None, -220)
    assert range_text(found).endswith("median failed" if found.confirmed.median is None else "median 220")
    assert range_text(found).startswith("220 to failed")
    never, _ = examined("own, other = 210, None")
    assert never.confirmed is not None
    assert never.confirmed.median is None
    assert rank_score(never) < rank_score(found)


def test_a_task_without_permuted_has_no_range() -> None:
    task = load_task(str(ROOT / "tests" / "data" / "climb"))
    source = task.initial.read_text()
    with open_evaluator(task, task.suite(None), workers=1) as evaluator:
        found = evaluator.examine(one_file(source), evaluator.evaluate(one_file(source)))
        assert evaluator.in_new_orders(one_file(source)) is None
    assert found.strict is not None
    assert (found.strict.agrees, found.confirmed, rank_score(found)) == (True, None, found.combined_score)


@given(st.lists(st.none() | st.floats(-1e6, 1e6), min_size=1, max_size=9))
def test_a_range_is_of_the_scores_and_a_failure_is_the_lowest(scores: list[float | None]) -> None:
    found = OrderRange.of(scores)
    assert found is not None
    assert {found.low, found.median, found.high} <= set(scores)
    low, median, high = (-math.inf if one is None else one for one in (found.low, found.median, found.high))
    ranked = [-math.inf if score is None else score for score in scores]
    assert low == min(ranked)
    assert high == max(ranked)
    assert sum(score <= median for score in ranked) >= len(scores) / 2 <= sum(score >= median for score in ranked)
