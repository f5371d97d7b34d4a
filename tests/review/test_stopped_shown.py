"""A program whose evaluation was stopped is shown as that wherever programs are shown, and as a failure nowhere."""

import json
from pathlib import Path
from typing import Any

import pytest

from evolve.archive.archive import Archive
from evolve.archive.records import ProgramRecord
from evolve.evidence.counted import Evidence
from evolve.evidence.credit import Credits
from evolve.evidence.facts import Fact
from evolve.meta.citations import rendered, with_citations
from evolve.meta.overview import overview
from evolve.review.facts import FactsReader
from evolve.review.funnel import failures, funnel
from tests.journals import rewrite
from tests.run.climbing import configure, evolve, finish, patch, script

RACE = Path(__file__).resolve().parent.parent / "data" / "race"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a raced run `r`: two steps to the goal, two away from it, and one that breaks the program."""
    folder = tmp_path_factory.mktemp("stopped")
    steps = [20.3, 9.1, -57.1, "OFFSET = 'none'", -31.2, 4.5]
    answers = [patch(step, name=f"step_{number}") for number, step in enumerate(steps, 1)]
    search = {"elites": 1, "racing": True, "kinds": {"diff": 1.0, "full": 0.0, "cross": 0.0, "fix": 0.0}}
    keys = {"task": str(RACE), "generations": len(steps), "search": search}
    finish(folder, "run", configure(folder, models=[script(folder, answers)], **keys), "--name", "r")
    return folder


def asked(folder: Path, *words: str, code: int = 0) -> Any:
    return json.loads(evolve(folder, *words, "--json", code=code).stdout)


def stopped_of(archive: Archive) -> list[ProgramRecord]:
    return [record for record in archive.programs if record.stopped]


def test_list_and_show_say_what_was_needed(folder: Path) -> None:
    row = next(one for one in asked(folder, "list", "r")["programs"] if one["generation"] == 3)
    assert (row["outcome"], row["correct"], row["value"], row["gap"]) == ("stopped", False, None, None)
    assert row["threshold"] > row["combined_score"]
    assert "stopped" in evolve(folder, "list", "r").stdout
    shown = evolve(folder, "show", "r", "3").stdout
    assert "stopped after 2 of 8 instances: distance 168.9375 at best, and 142.2 was needed" in " ".join(shown.split())
    assert "failed" not in shown
    one = asked(folder, "show", "r", "3", "--instances")
    assert one["failures"] == []
    asked_of = [instance for instance in one["instances"] if instance["outcome"] == "ok"]
    rest = [instance for instance in one["instances"] if instance["outcome"] == "stopped"]
    assert len(asked_of) == 2 and len(rest) == 6
    assert {instance["against_parent"] for instance in rest} == {None}, "what was not asked is not worse"
    assert "not asked" in evolve(folder, "show", "r", "3", "--instances").stdout
    assert [one["generation"] for one in asked(folder, "list", "r", "--failed")["generations"]] == [4]


def test_pages_and_tables_are_drawn_from_what_is_known(folder: Path) -> None:
    with Archive.open(folder / "runs" / "r", write=False) as archive:
        stopped = [record.generation for record in stopped_of(archive)]
        facts = FactsReader(archive).facts(sorted(archive.statuses))
        assert stopped == [3, 5]
        assert [one.n for one in facts if one.mark == "stopped"] == stopped
        assert {(one.value, one.score, one.wins, one.change) for one in facts if one.n in stopped} == {(None,) * 4}
        assert [(row["reason"], row["generations"]) for row in failures(facts)] == [("exception", [4])]
        assert next(row for row in funnel(facts) if row["stage"] == "new")["generations"] == [3, 4, 5]
        assert archive.funnel.stopped == 2


def test_models_are_told_that_it_was_stopped_and_what_it_lacked(folder: Path) -> None:
    with Archive.open(folder / "runs" / "r", write=False) as archive:
        prompt = archive.text(archive.attempts(6)[-1].prompt or "")
    for number, count in ((3, 2), (5, 3)):
        assert f"- generation {number}, diff `step_{number}`: stopped after {count} of 8 instances: distance" in prompt
    assert "generation 4, diff `step_4`: not correct (exception)" in prompt


def test_in_the_evidence_it_is_neither_correct_nor_failed(folder: Path) -> None:
    with Archive.open(folder / "runs" / "r", write=False) as archive:
        credit = Credits(archive)
        facts = [
            Fact.of_program(record, credit.of(record), detail=archive.evaluation(record).detail)
            for record in archive.programs
        ]
    evidence = Evidence(facts)
    said = overview(evidence)
    assert "4 a correct one (2 stopped before that was known)" in said
    assert "stopped: could not enter the best: generations 3, 5" in said
    assert not any("failed" in fact.ending for fact in facts if fact.generation in (3, 5))
    told = rendered("[gen 3] and [gen 2 > gen 3]", evidence.facts)
    assert told.startswith("generation 3 (stopped: could not enter the best)")
    assert with_citations(told) == "[gen 3] and [gen 2 > gen 3]"


def test_replay_scores_it_in_full_and_says_that_the_record_was_stopped(folder: Path) -> None:
    found = asked(folder, "replay", "r", "3")
    assert found["equal"] and found["differences"] == []
    assert found["recorded"]["outcome"] == "stopped" and found["replayed"]["outcome"] == "ok"
    said = " ".join(evolve(folder, "replay", "r", "3").stdout.split())
    assert "the record is of an evaluation that was stopped, and the 2 of 8 instances that were asked" in said
    assert "Asked to the end it scores distance" in said


def test_a_stop_that_cannot_be_is_no_record(folder: Path, tmp_path: Path) -> None:
    journal = folder / "runs" / "r" / "journal.jsonl"
    whole = journal.read_bytes()

    def told(change: Any) -> str:
        def forge(event: dict[str, Any]) -> None:
            if event["event"] == "evaluated" and event["generation"] == 3:
                change(event["evaluation"])

        rewrite(journal, forge)
        try:
            return evolve(folder, "list", "r", code=2).stderr
        finally:
            journal.write_bytes(whole)

    assert "it was stopped below" in told(lambda one: one.update(threshold=one["combined_score"]))
    assert "a threshold belongs to `stopped` alone" in told(lambda one: one.update(outcome="ok", correct=True))
    assert "a threshold belongs to `stopped` alone" in told(lambda one: one.pop("threshold"))
    assert "an instance failed" in told(lambda one: one.update(failures=[[0, "exception", "it raised"]]))
    assert "it is called correct" in told(lambda one: one.update(correct=True))
    assert journal.read_bytes() == whole
