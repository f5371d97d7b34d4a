"""A small deterministic run, written through the archive's own interface as the loop would write it."""

import contextlib
import hashlib
import itertools
import os
import resource
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from fractions import Fraction
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from evaluator.evaluation import Evaluation, InstanceResult, Outcome
from evolve.archive import objects
from evolve.archive.archive import Archive
from evolve.archive.reader import RunReader
from evolve.archive.records import ProgramRecord
from evolve.core.completion import Completion
from evolve.core.errors import MachineError
from evolve.core.program import Origin, PatchKind
from evolve.core.usage import Usage
from tests.builders import make_evaluation, make_made, make_question, one_file
from tests.loop.climbing import FORKS

IDENTITY = {"task": "placement", "suite": "adrs", "seed": 0}


def evaluation(
    score: float = 21.5, outcome: Outcome = Outcome.OK, *, detail: str = "", wall_s: float = 0.25
) -> Evaluation:
    failed = outcome is not Outcome.OK
    results = (
        InstanceResult(instance=0, outcome=Outcome.OK, cost=Fraction(7, 3), cpu_s=wall_s, wall_s=wall_s),
        InstanceResult(
            instance=1, outcome=outcome, cost=None if failed else Fraction(1, 9), detail=detail, cpu_s=0.5, wall_s=0.5
        ),
    )
    return make_evaluation(
        score=score,
        results=results,
        outcome=outcome,
        detail=detail,
        metrics={"max_kvpr_inverse": score},
        feedback="one instance failed" if failed else "",
        runtime_s=wall_s,
    )


def record(
    archive: Archive,
    generation: int,
    *,
    score: float = 21.5,
    outcome: Outcome = Outcome.OK,
    parents: tuple[str, ...] = (),
    inspirations: tuple[str, ...] = (),
    island: int = 0,
    name: str = "swap_two",
    description: str = "Swap two models.",
    source: str | None = None,
    patch_text: str = "<NAME> swap_two </NAME>",
    attempt: int = 0,
    detail: str = "",
    answers: tuple[str, ...] | None = ("[0, 1]", '{"a": null}'),
) -> ProgramRecord:
    source = f"def place():\n    return {generation}\n" if source is None else source
    made = make_made(
        generation,
        evaluation(score, outcome, detail=detail),
        attempt=attempt,
        origin=Origin(
            kind=PatchKind.DIFF if parents else PatchKind.INITIAL,
            model="offline",
            patch_name=name,
            description=description,
        ),
        parents=parents,
        inspirations=inspirations,
        island=island,
        source_hash=hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest(),
    )
    return archive.evaluated(made, files=one_file(source), patch_text=patch_text if parents else "", answers=answers)


def ask(
    archive: Archive, generation: int, attempt: int = 0, *, prompt: str | None = None, estimate: float = 0.0
) -> None:
    question = make_question(
        generation,
        [archive.reader.best or archive.reader.programs[0]],
        attempt=attempt,
        island=generation % 2,
        inspirations=(archive.reader.programs[0].commit,),
        model="offline",
        estimate_usd=estimate,
    )
    archive.asked(question, prompt)


def answer(archive: Archive, generation: int, attempt: int = 0, *, text: str = "an answer", cost: float = 0.0) -> None:
    archive.answered(
        generation, attempt, Completion(text=text, usage=Usage(tokens_in=1, tokens_out=2, cost_usd=cost, latency_s=0.1))
    )


def evolve_on(archive: Archive, generations: int, *, prompts: bool) -> None:
    """Go on with a run to its end, from wherever it stands, as a resumed loop with one proposal in flight does."""
    if not archive.reader.programs:
        record(archive, 0)
    for orphan in archive.reader.orphans():
        archive.lost(orphan.generation, orphan.attempt)
    for unfinished in archive.reader.unfinished():
        _finish(
            archive, unfinished.generation, unfinished.attempt, unfinished.answer and unfinished.answer.text, prompts
        )
    while archive.reader.next_generation < generations:
        _finish(archive, archive.reader.next_generation, 0, None, prompts)
    archive.stopped("generations")


def _finish(archive: Archive, generation: int, attempt: int, text: str | None, prompts: bool) -> None:
    if text is None:
        ask(archive, generation, attempt, prompt=f"improve it: {generation}.{attempt}" if prompts else None)
        text = f"patch {generation}.{attempt}"
        answer(archive, generation, attempt, text=text)
    assert text == f"patch {generation}.{attempt}"
    if generation % 3 == 2 and attempt == 0:
        archive.refused(generation, attempt, reason="no_match", message="no such lines", final=False)
        _finish(archive, generation, attempt + 1, None, prompts)
    elif generation % 4 == 3:
        archive.refused(
            generation,
            attempt,
            reason="duplicate",
            message="known",
            final=True,
            duplicate_of=0,
        )
    else:
        chosen = archive.reader.attempts(generation)[-1].parent
        outcome = Outcome.EXCEPTION if generation == 5 else Outcome.OK
        record(
            archive,
            generation,
            score=21.5 + generation % 4,
            outcome=outcome,
            parents=(chosen,),
            inspirations=(archive.reader.programs[0].commit,),
            island=generation % 2,
            patch_text=text,
            attempt=attempt,
        )


def in_fork(target: Callable[..., None], *arguments: Any) -> tuple[int, list[Any]]:
    """Call a function of this module in a process of its own: its exit code, and what it sent by its last argument."""
    received, sending = FORKS.Pipe(duplex=False)
    process = FORKS.Process(target=target, args=(*arguments, sending))
    process.start()
    sending.close()
    results = []
    with contextlib.suppress(EOFError):  # it has ended
        while True:
            results.append(received.recv())
    process.join()
    assert process.exitcode is not None
    return process.exitcode, results


def write_to_the_end(path: Path, generations: int, _: Connection) -> None:
    """Begin that run, or go on with it."""
    with _begun_or_resumed(path) as archive:
        evolve_on(archive, generations, prompts=True)


def write_until_the_disk_is_full(path: Path, generations: int, room: int, sending: Connection) -> None:
    """Go on with a run whose journal may grow by that much, and send what is said."""
    archive = Archive.open(path)
    limit = (path / "journal.jsonl").stat().st_size + room
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    try:
        evolve_on(archive, generations, prompts=True)
    except MachineError as error:
        sending.send(str(error))
        seen = archive.reader.fingerprint()
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        archive.close()
        with RunReader.open(path) as again:
            assert again.fingerprint() == seen


def write_until_killed(path: Path, generations: int, seconds: float, _: Connection) -> None:
    """Begin or go on, and be killed after so long."""
    with _begun_or_resumed(path) as archive:
        threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGKILL)).start()
        evolve_on(archive, generations, prompts=True)


def write_with_packs_until_killed(path: Path, generations: int, calls: int | None, _: Connection) -> None:
    """Begin or go on, packing at every dozen objects, and be killed after `calls` calls to the disk."""
    objects.PACKED_AT = 12
    objects.Objects.tidy.__defaults__ = (12,)
    with _begun_or_resumed(path) as archive:
        if calls is not None:
            _die_after(calls)
        evolve_on(archive, generations, prompts=True)


def wait_for_packing(run: Path) -> None:
    """Wait until no git packs the run's objects: one whose writer was killed goes on."""
    objects_of_run = str((run / "programs.git" / "objects").absolute()).encode()
    while any(objects_of_run in _environment_of(process) for process in Path("/proc").glob("[0-9]*")):
        time.sleep(0.01)


def _environment_of(process: Path) -> bytes:
    with contextlib.suppress(OSError):
        return (process / "environ").read_bytes()
    return b""


def _begun_or_resumed(path: Path) -> Archive:
    if path.exists():
        return Archive.open(path)
    return Archive.create(path, config_text="seed: 0\n", identity=IDENTITY)


def _die_after(calls: int) -> None:
    left = itertools.count(calls - 1, -1)

    def wrapping(call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any, **keys: Any) -> Any:
            returned = call(*arguments, **keys)
            if next(left) == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return returned

        return wrapped

    for name in ("open", "write", "fsync", "rename", "unlink"):
        setattr(os, name, wrapping(getattr(os, name)))


def git(folder: Path, *arguments: str) -> str:
    """What git says, in a run's repository. A failure of git fails the test."""
    done = subprocess.run(
        ["git", *arguments], cwd=folder / "programs.git", capture_output=True, text=True, check=False, errors="replace"
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def unpack(folder: Path) -> None:
    """Make the objects of a run loose ones again."""
    for pack in list((folder / "programs.git" / "objects" / "pack").glob("*.pack")):
        data = pack.read_bytes()
        pack.unlink()
        pack.with_suffix(".idx").unlink()
        subprocess.run(["git", "unpack-objects", "-q"], cwd=folder / "programs.git", input=data, check=True)
