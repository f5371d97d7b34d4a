"""Commands as a person meets them: in a terminal of its own, or piped."""

import json
import shutil
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from evaluator.evaluation import Outcome
from evolve.archive.reader import RunReader
from evolve.cli.main import main
from evolve.core.program import PatchKind
from evolve.core.usage import Usage
from tests.builders import make_question
from tests.cli.terminals import screen
from tests.reports import recommending

HOSTILE = "red\x1b[31m\nSigned-off-by: nobody\r\u202e\ud800 " + "x" * 1_000_000


@pytest.fixture
def evolve(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Runs a command, expects its exit code, and returns what it printed on stdout (on stderr if code is 2 or 3)."""

    def call(*words: str, code: int = 0) -> str:
        capsys.readouterr()
        assert main([str(word) for word in words]) == code
        out, err = capsys.readouterr()
        return err if code in (2, 3) else out

    return call


@pytest.fixture
def evolve_json(evolve: Callable[..., str]) -> Callable[..., Any]:
    """Like `evolve`, with `--json`; what the output means."""
    return lambda *words, code=0: json.loads(evolve(*words, "--json", code=code))


@pytest.fixture
def on_terminal() -> Callable[..., str]:
    """Runs a command in a terminal `width` columns wide, types `typed`, expects the exit code `code`, and returns the
    bytes that the terminal got, as text."""
    return partial(screen, width=100)


@pytest.fixture(scope="session")
def recorded_family(recorded_runs, make_evaluation):
    """The run `family`: 0 initial, 1 better, 2 refused, 3 a cross of 1 and 0 and the best, 4 failing, 5 quarantined."""
    run = recorded_runs("family")
    initial = run.initial("a = 1\nb = 2\nc = 3\n")
    first = run.propose(
        1,
        [initial],
        source="a = 1\nb = 22\nc = 3\n",
        evaluation=make_evaluation(score=22.0),
        name="wider_b",
        description="More of b helps.",
    )
    run.ask(2, [initial])
    run.archive.refused(2, 0, reason="no_match", message="Block 1 matches nothing.", final=True)
    run.ask(3, [first, initial], answer="no patch at all")
    run.archive.refused(3, 0, reason="no_patch", message="There is no patch in this answer.", final=False)
    best = run.propose(
        3,
        [first, initial],
        attempt=1,
        source="a = 1\nb = 22\nc = 33\n",
        evaluation=make_evaluation(score=25.0),
        name="both",
        kind=PatchKind.CROSS,
    )
    run.propose(
        4, [best], source="a =\n", evaluation=make_evaluation((Fraction(1, 3), None), score=0.5), name="drops_models"
    )
    run.propose(
        5, [best], source="evil\n", evaluation=make_evaluation(score=95.04, quarantine="instance 3 beats its bound")
    )
    run.archive.stopped("generations")
    return run.archive.reader


@pytest.fixture(scope="session")
def recorded_lesson(recorded_runs, make_evaluation):
    """The run `lesson`, by a model without a price: 0 initial, 1 better, 2 refused, 3 a cross of 1 with 0 that followed
    a recommendation and is the best, 4 a program that fails, 5 under way."""
    run = recorded_runs("lesson")
    unpriced = {"usage": Usage(tokens_in=1000, tokens_out=200, cost_usd=None, latency_s=1.0)}
    worse, better = (Fraction(1, 2), Fraction(1, 3)), (Fraction(1, 3), Fraction(1, 3))
    initial = run.initial("a = 1\n", make_evaluation(worse, score=20.0))
    run.archive.held_out(0, make_evaluation(score=19.0), overfitted=None)
    first = run.propose(1, [initial], source="a = 2\n", evaluation=make_evaluation(score=21.0), **unpriced)
    run.archive.held_out(1, make_evaluation(score=19.5), overfitted=None)
    run.archive.summarised(2, recommending("Do the first thing.", "Take the best of both."))
    run.ask(2, [first], **unpriced)
    run.archive.refused(2, 0, reason="no_match", message="Block 1 matches nothing.\nMore of it.", final=True)
    run.propose(
        3,
        [first],
        source="a = 3\n",
        evaluation=make_evaluation(better, score=22.0),
        kind=PatchKind.CROSS,
        name="both",
        inspirations=[initial],
        reasoning="Let me think.\nBoth are good.",
        guidance={"document": 2, "recommendation": 2},
        **unpriced,
    )
    run.archive.held_out(3, make_evaluation(score=19.75), overfitted=None)
    failing = make_evaluation((Fraction(1, 3), None), score=0.5)
    run.propose(4, [first], source="a = 4\n", evaluation=failing, name="drops_models", **unpriced)
    run.archive.asked(make_question(5, [first]), "a prompt")
    return run.archive.reader


@pytest.fixture
def lesson(bring, recorded_lesson):
    return bring(recorded_lesson)


@pytest.fixture(scope="session")
def recorded_hostile(recorded_runs, make_evaluation):
    """The run `hostile`, in which every text that a model or a candidate writes is hostile."""
    run = recorded_runs("hostile")
    initial = run.initial("a = 1\n")
    evaluation = make_evaluation((Fraction(1, 3), None), score=0.5, detail=HOSTILE, quarantine=HOSTILE)
    assert evaluation.outcome is Outcome.INVALID_OUTPUT
    run.propose(
        1,
        [initial],
        source=f"'''{HOSTILE[:50]}'''\r\n",
        evaluation=evaluation,
        name=HOSTILE,
        description=HOSTILE,
        patch=HOSTILE,
    )
    return run.archive.reader


@pytest.fixture
def bring(tmp_path, monkeypatch):
    """Copies a run into `./runs` of the test's own folder, which becomes the current one, and opens it."""
    monkeypatch.chdir(tmp_path)
    opened = []

    def copy(recorded):
        folder = Path("runs") / recorded.folder.name
        shutil.copytree(recorded.folder, folder, ignore=shutil.ignore_patterns("lock"))
        opened.append(RunReader.open(folder))
        return opened[-1]

    yield copy
    for archive in opened:
        archive.close()


@pytest.fixture
def family(bring, recorded_family):
    return bring(recorded_family)


@pytest.fixture
def hostile(bring, recorded_hostile):
    return bring(recorded_hostile)


@pytest.fixture(scope="session")
def recorded_empty(recorded_runs):
    """The run `empty`, cut off before its initial program was recorded."""
    return recorded_runs("empty").archive


@pytest.fixture
def empty(bring, recorded_empty):
    return bring(recorded_empty)
