"""Claims about `import evolve`."""

import doctest
import inspect
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import evolve
from evaluator.evaluation import Evaluation
from evolve.archive.events import EvaluatedEvent
from evolve.core.config import Config

ROOT = Path(__file__).resolve().parent.parent
CURVE = str(ROOT / "tests" / "data" / "curve")
OFFERED = {
    *("run", "resume", "score", "open_run", "load_task"),
    *("Run", "Task", "Config", "ProgramRecord", "Evaluation", "InstanceResult", "Outcome"),
    *("Listener", "Progress", "Evaluated", "Confirmed", "Refused", "Failed", "Summarised", "Stopping", "Warned"),
    "ServerTrouble",
    *("EvolveError", "InputError", "ProgramError", "ArchiveError", "MachineError"),
    *("EvaluatorError", "TaskError", "SandboxError", "__version__"),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the run `curve`: six proposals, of which some may not become programs."""
    folder = tmp_path_factory.mktemp("api")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        evolve.run(task=CURVE, generations=6, parallel=1, name="curve").close()
    return folder


@pytest.fixture
def here(made: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(made)
    return made


def test_what_is_offered_is_this_and_all_of_it_is_there() -> None:
    assert set(evolve.__all__) == OFFERED
    for name in OFFERED:
        assert getattr(evolve, name) is not None
    assert set(dir(evolve)) >= OFFERED
    with pytest.raises(AttributeError, match="nothing"):
        evolve.nothing  # noqa: B018


@pytest.mark.slow
def test_the_examples_do_what_they_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner()
    # The examples follow on one another: `run` makes the run that the others read.
    parts = [evolve.run, evolve.resume, evolve.open_run, evolve.score, evolve.Run]
    ran = 0
    for part in parts:
        for test in finder.find(part, globs={"evolve": evolve}):
            runner.run(test)
            ran += len(test.examples)
    assert ran >= 6
    assert runner.failures == 0


def test_a_run_is_called_by_its_name_before_and_after_its_package_was_imported(tmp_path: Path) -> None:
    script = (
        "import sys, evolve\n"
        f"first = evolve.run(task={CURVE!r}, generations=1, parallel=1, name='a')\n"
        "import evolve.loop.session, evolve.loop.loop\n"
        f"second = evolve.run(task={CURVE!r}, generations=1, parallel=1, name='b')\n"
        "from evolve import run\n"
        f"third = run(task={CURVE!r}, generations=1, parallel=1, name='c')\n"
        "assert first.fingerprint == second.fingerprint == third.fingerprint\n"
        "assert evolve.loop.session.new_session\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.slow
def test_type_checkers_see_what_is_offered(tmp_path: Path) -> None:
    file = tmp_path / "user.py"
    file.write_text(
        "import evolve\n"
        "from evolve.loop.session import new_session\n"
        "run: evolve.Run = evolve.run(task='placement', generations=3, models=['a', {'model': 'b'}])\n"
        "best: float = run.programs[0]['combined_score']\n"
        "reveal_type(evolve.score('x.py'))\n"
        "evolve.run(generation=3)\n"
        "evolve.nothing\n"
    )
    # With the project's own settings, which are as strict: what `make check` has just read is not read again.
    mypy = [sys.executable, "-m", "mypy", str(file)]
    ran = subprocess.run(mypy, cwd=ROOT, capture_output=True, text=True, check=False)
    assert 'Revealed type is "evaluator.evaluation.Evaluation"' in ran.stdout
    assert 'did you mean "generations"' in ran.stdout
    assert 'has no attribute "nothing"' in ran.stdout
    assert "Found 2 errors in 1 file" in ran.stdout, ran.stdout


def test_the_programs_are_flat_rows_of_plain_values(here: Path) -> None:
    with evolve.open_run("curve") as run:
        rows = run.programs
        assert {len(row) for row in rows} == {len(rows[0])}
        assert list(rows[0])[:3] == ["generation", "commit", "parents"]
        for row in rows:
            json.dumps(row)
            assert all(isinstance(v, str | int | float | bool | list | None) for v in row.values())
        assert rows[0]["parents"] == []
        assert all(set(row["parents"]) <= {r["generation"] for r in rows} for row in rows)
        assert run.best == max(rows, key=lambda row: (row["correct"], row["combined_score"], -row["generation"]))
        assert any(key.startswith("metrics.") for key in rows[0])


def test_rows_are_made_once_until_the_run_is_read_again(here: Path) -> None:
    with evolve.open_run("curve") as run:
        for rows in (lambda: run.programs, lambda: run.generations):
            first = rows()
            assert rows()[0] is first[0]
            first.clear()  # the list is the caller's own
            assert rows()
        before = run.programs[0]
        assert run.reload().programs[0] == before
        assert run.programs[0] is not before


def test_the_signature_of_a_run_says_what_it_takes() -> None:
    parameters = inspect.signature(evolve.run).parameters
    of_the_run = {"config", "name", "listener", "interrupt", "require_level", "unsafe", "fix_initial"}
    assert set(parameters) == of_the_run | set(Config.model_fields)
    assert pickle.loads(pickle.dumps(evolve.run)) is evolve.run


def test_every_generation_has_a_row_with_a_program_or_without(here: Path) -> None:
    with evolve.open_run(here / "runs" / "curve") as run:
        rows = run.generations
        assert [row["generation"] for row in rows] == list(range(7))
        assert sum(row["status"] == "evaluated" for row in rows) == len(run.programs)
        correct = {row["generation"] for row in run.programs if row["correct"]}
        assert {row["generation"] for row in rows if row["reason"] is None} == correct
        assert (rows[0]["kind"], rows[0]["model"]) == ("initial", "")


def test_the_events_of_a_run_are_typed_values_in_order(here: Path) -> None:
    with evolve.open_run("curve") as run:
        events = list(run.events())
        lines = (run.folder / "journal.jsonl").read_text().splitlines()
        evaluated = [event for event in events if isinstance(event, EvaluatedEvent)]
        assert [event.seq for event in events] == list(range(len(lines)))
        assert [event.event for event in events] == [json.loads(line)["event"] for line in lines]
        assert [event.commit for event in evaluated] == [record.commit for record in run.records]
        first = evaluated[0]
        assert Evaluation.from_json(first.evaluation) == run.evaluation(0)


def test_sources_and_verdicts_are_read_when_asked_for(here: Path) -> None:
    with evolve.open_run("curve") as run:
        generation = run.best["generation"]
        assert run.source("best") == run.source(generation)
        evaluation = run.evaluation(generation)
        assert evaluation.combined_score == run.best["combined_score"]
        again = evolve.score(run.source(generation), task=CURVE)
        seen, recorded = ([r.exact_result for r in e.results] for e in (again, evaluation))
        assert seen == recorded
        assert evolve.score(run.source(generation), task=evolve.load_task(CURVE), strict=True).strict.agrees
        with pytest.raises(evolve.ArchiveError, match="generation 99"):
            run.source(99)
        assert "curve" in repr(run)


class Counting:
    """A listener."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def tell(self, event: Any, progress: evolve.Progress) -> None:
        self.seen.append(event)

    def tick(self, progress: evolve.Progress) -> None:
        pass


def test_a_listener_receives_events_and_a_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    listener = Counting()
    run = evolve.run({"task": CURVE, "generations": 2}, parallel=1, name="heard", listener=listener)
    generations_ = [event.record.generation for event in listener.seen if isinstance(event, evolve.Evaluated)]
    assert generations_ == [row["generation"] for row in run.programs]
    longer = evolve.resume(run, settings={"generations": 4})
    assert len(longer.generations) == 5
    assert len(run.generations) == 3
    assert len(run.reload().generations) == 5
    whole = evolve.run(task=CURVE, generations=4, parallel=1, name="whole")
    assert whole.fingerprint == longer.fingerprint


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: evolve.run({"generation": 3}), "did you mean 'generations'"),
        (lambda: evolve.run(task="plasment"), "plasment"),
        (lambda: evolve.run(task=CURVE, generations=0), "generations"),
        (lambda: evolve.run(task=CURVE, name="a/b"), "name"),
        (lambda: evolve.run("missing.yaml"), "missing.yaml"),
        (lambda: evolve.resume("nosuch"), "nosuch"),
        (lambda: evolve.open_run("nosuch"), "nosuch"),
        (lambda: evolve.score("missing.py"), "missing.py"),
        (lambda: evolve.score("x = 1\n", suite="nosuch"), "nosuch"),
    ],
)
def test_bad_input_is_an_error_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Any, says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises((evolve.EvolveError, evolve.EvaluatorError), match=says):
        call()
    assert list(tmp_path.iterdir()) == []
