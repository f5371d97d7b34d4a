"""Verdicts and records made by hand, and runs recorded by the real archive."""

import gc
import secrets
import signal
import subprocess
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from evaluator.evaluation import Evaluation
from evolve.archive.archive import Archive
from evolve.archive.records import ProgramRecord
from evolve.core.completion import Completion
from evolve.core.program import Origin, PatchKind
from evolve.core.usage import Usage
from tests import builders
from tests.builders import one_file
from tests.examples import load_profiles
from tests.templates import share_compiled

load_profiles()  # before any test module is imported: `part_of_the_examples` reads the profile then
share_compiled()

# A shell that starts the tests in the background (`make check &`) makes all that they start deaf to Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for no garbage while tests are collected, a third of the time that took, nor in what was collected later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.fixture
def started() -> Iterator[Callable[..., subprocess.Popen[Any]]]:
    """Starts a process, as `subprocess.Popen` does, that does not outlive the test, however that ends."""
    processes: list[subprocess.Popen[Any]] = []

    def start(command: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
        processes.append(subprocess.Popen(command, **options))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()


@pytest.fixture(scope="session", autouse=True)
def _state_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Which runs are the user's is noted in a folder of the tests, not in the user's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="session")
def make_record() -> Callable[..., ProgramRecord]:
    return builders.make_record


@pytest.fixture(scope="session")
def make_evaluation() -> Callable[..., Evaluation]:
    return builders.make_evaluation


PAID = Usage(tokens_in=10, tokens_out=20, cost_usd=0.5, latency_s=1.0)


class RunBuilder:
    """Records a run through the real archive, proposal by proposal. Sources and scores are up to the test."""

    def __init__(self, folder: Path, *, config: str = "task: placement\n", seed: int = 0, **changes: str) -> None:
        identity = {
            "task": "placement",
            "suite": "adrs",
            "seed": seed,
            "evaluator_version": "v1",
            "sandbox": "standard",
        }
        identity |= changes
        self.archive = Archive.create(folder, config_text=config, identity=identity, run_id=secrets.token_hex(16))

    def initial(self, source: str = "x = 0\n", evaluation: Evaluation | None = None) -> ProgramRecord:
        made = builders.make_made(0, evaluation or builders.make_evaluation(score=20.0))
        return self.archive.evaluated(
            made, files=one_file(source), patch_text="", answers=evaluation and evaluation.answers
        )

    def ask(
        self,
        generation: int,
        parents: Sequence[ProgramRecord],
        *,
        attempt: int = 0,
        answer: str = "an answer",
        inspirations: Sequence[ProgramRecord] = (),
        usage: Usage = PAID,
        reasoning: str = "",
        guidance: Mapping[str, int] | None = None,
        why: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        question = builders.make_question(
            generation,
            parents,
            attempt=attempt,
            inspirations=tuple(inspiration.commit for inspiration in inspirations),
            guidance=guidance,
            **why,
        )
        self.archive.asked(question, f"a prompt for generation {generation}, attempt {attempt}")
        self.archive.answered(generation, attempt, Completion(text=answer, usage=usage, reasoning=reasoning))

    def propose(
        self,
        generation: int,
        parents: Sequence[ProgramRecord],
        *,
        source: str,
        evaluation: Evaluation,
        attempt: int = 0,
        name: str = "a_patch",
        description: str = "a reason",
        kind: PatchKind = PatchKind.DIFF,
        patch: str = "a patch",
        inspirations: Sequence[ProgramRecord] = (),
        **asked: Any,
    ) -> ProgramRecord:
        self.ask(generation, parents, attempt=attempt, inspirations=inspirations, **asked)
        made = builders.make_made(
            generation,
            evaluation,
            attempt=attempt,
            origin=Origin(kind=kind, model="a_model", patch_name=name, description=description),
            parents=tuple(parent.commit for parent in parents),
            inspirations=tuple(inspiration.commit for inspiration in inspirations),
        )
        return self.archive.evaluated(made, files=one_file(source), patch_text=patch, answers=evaluation.answers)


@pytest.fixture(scope="session")
def recorded_runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., RunBuilder]]:
    """Makes runs that last as long as the tests, each in `runs/<name>` of a folder of its own."""
    made: list[RunBuilder] = []

    def make(name: str, **how: Any) -> RunBuilder:
        made.append(RunBuilder(tmp_path_factory.mktemp(name) / "runs" / name, **how))
        return made[-1]

    yield make
    for builder in made:
        builder.archive.close()
