"""A program that fails goes back to its model once, as a patch that does not fit does."""

import json
import re
from pathlib import Path
from typing import Any

from evolve.archive.events import Status
from evolve.insights.facts import FactReader
from evolve.view.payload import run_document
from tests.loop.by_hand import through
from tests.loop.climbing import configure, events, evolve, opened, patch, script

BROKEN = patch("OFFSET = None", name="broken")


def run(folder: Path, answers: list[Any]) -> None:
    config = configure(folder, models=[script(folder, answers)], generations=len(answers))
    evolve(folder, "run", config, "--name", "r", code=None)


def test_a_failed_evaluation_goes_back_with_its_reason_and_the_second_verdict_counts(tmp_path: Path) -> None:
    run(tmp_path, [[BROKEN, patch(2, name="repaired")]])
    names = [(e["event"], e.get("attempt")) for e in events(tmp_path) if e.get("generation") == 1]
    assert names[:6] == [
        ("asked", 0), ("answered", 0), ("refused", 0), ("asked", 1), ("answered", 1), ("evaluated", 1)
    ]  # fmt: skip
    with opened(tmp_path) as archive:
        first, second = archive.attempts(1)
        assert (first.status, first.reason) == (Status.REFUSED, "exception")
        assert archive.find("1").correct and archive.find("1").origin.patch_name == "repaired"
        assert len(archive.programs) == 2, "the failed text is no program"
        prompt = archive.text(second.prompt or "")
        assert (archive.funnel.answered, archive.funnel.new, archive.funnel.correct) == (2, 2, 1)
    assert "not correct (exception); 0 of 3 instances succeeded" in prompt
    assert "TypeError: unsupported operand" in prompt
    assert "| OFFSET = None" in prompt, "the answer is quoted"


def test_it_goes_back_only_once_and_takes_one_of_the_attempts(tmp_path: Path) -> None:
    worse = patch("OFFSET = 'x'", name="broken_again")
    answers = [[BROKEN, worse, patch(1)], ["Let us talk.", "No.", BROKEN]]
    through(tmp_path, configure(tmp_path, models=[script(tmp_path, answers)], generations=2, attempts=3))
    with opened(tmp_path) as archive:
        assert [attempt.reason for attempt in archive.attempts(1)] == ["exception", None]
        assert not archive.find("1").correct and archive.find("1").origin.patch_name == "broken_again"
        assert [attempt.reason for attempt in archive.attempts(2)] == ["no_patch", "no_patch", None]


def test_with_one_attempt_nothing_goes_back(tmp_path: Path) -> None:
    through(tmp_path, configure(tmp_path, models=[script(tmp_path, [BROKEN])], generations=1, attempts=1))
    with opened(tmp_path) as archive:
        assert [attempt.reason for attempt in archive.attempts(1)] == [None]


def test_where_the_retry_gets_no_answer_the_failure_itself_is_shown(tmp_path: Path) -> None:
    run(tmp_path, [patch(1), [BROKEN, {"error": "connection"}], patch(-3), patch(-4)])
    why = "TypeError: unsupported operand type(s) for +: 'int' and 'NoneType'"
    assert re.search(rf"2 +failed: exception .*{re.escape(why)}", evolve(tmp_path, "list", "r", "--failed").stdout)
    shown = evolve(tmp_path, "show", "r", "2").stdout
    assert re.search(rf"status +failed: exception\nwhy +{re.escape(why)}\n", shown), shown
    with opened(tmp_path) as archive:
        document = run_document("r", archive)
        row = {name: values[2] for name, values in document["gens"].items()}
        assert (row["mark"], row["reason"], row["why"]) == ("failed", "exception", why)
        assert [one["reason"] for one in document["failures"]] == ["exception"]
        assert [document["since_best"][how] for how in ("failed", "unanswered")] == [1, 0]
        (model,) = document["models"]
        assert model["applied"] == next(row["count"] for row in document["funnel"] if row["stage"] == "applied") == 4
        prompt = archive.text(archive.attempts(4)[0].prompt or "")
        assert re.search(r"^\| 2, broken: not correct \(exception\): TypeError", prompt, re.MULTILINE), prompt
        fact = FactReader(archive).ended(archive.ended_generation(2))
    assert (fact.ending, why in fact.fault) == ("failed: TypeError", True), "and the insights report says why"
    assert json.loads(evolve(tmp_path, "rerun", "r", "--json").stdout)["equal"]


def test_a_run_with_returned_evaluations_comes_again(tmp_path: Path) -> None:
    run(tmp_path, [patch(1), [BROKEN, patch(2, name="repaired")], [BROKEN, "No patch.", patch(3)], BROKEN])
    output = json.loads(evolve(tmp_path, "rerun", "r", "--json").stdout)
    assert output["equal"], output
