"""Writing, opening and following a large archive, and its size. Usage: python tests/benchmarks/archive.py [PROGRAMS]

Twice: as the offline proposer writes it, and with prompts of about 25 KB and answers of about 5 KB. Programs grow out
of each other by small edits, as they do in a run; prompts are made of the template and the programs that they show.
"""

import hashlib
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from evaluator.evaluation import Evaluation
from evaluator.evaluator import SandboxedEvaluator
from evaluator.task_files import load_task
from evolve.archive.archive import Archive
from evolve.archive.reader import RunReader
from evolve.archive.records import ProgramRecord
from evolve.core.completion import Completion
from evolve.core.program import Origin, PatchKind
from evolve.view.payload import changes, run_document
from tests.builders import make_made, make_question, one_file

WORDS = Path(__file__).parents[2].joinpath("docs", "generation.md").read_text(encoding="utf-8").split()
RULES = " ".join(WORDS[:1200])
"""What every prompt of a run has in common: about 8 KB."""


def own_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def prose(chance: random.Random, characters: int) -> str:
    """Text of about that length, in lines."""
    lines, length = [], 0
    while length < characters:
        lines.append(" ".join(chance.choices(WORDS, k=12)))
        length += len(lines[-1]) + 1
    return "\n".join(lines) + "\n"


def edited(source: str, chance: random.Random) -> tuple[str, str]:
    """A program with four of its lines replaced and two added, and the patch that says so."""
    lines, patch = source.split("\n"), []
    for _ in range(4):
        place = chance.randrange(len(lines))
        new = f"    value_{chance.randrange(10**6)} = {chance.random():.4f}"
        patch.append(f"<<<<<<< SEARCH\n{lines[place]}\n=======\n{new}\n>>>>>>> REPLACE")
        lines[place] = new
    lines = lines[:400]
    place = chance.randrange(len(lines))
    lines[place:place] = [f"    # step {chance.randrange(10**6)}", f"    other_{chance.randrange(10**6)} = None"]
    return "\n".join(lines), "\n".join(patch)


def evaluations(first: Evaluation, chance: random.Random) -> Evaluation:
    """An evaluation as another program would have it: other costs, other times."""
    results = [
        replace(
            result,
            cost=None if result.cost is None else result.cost * chance.choice((1, 2, 3)),
            cpu_s=round(result.cpu_s * chance.uniform(0.5, 2), 6),
            wall_s=round(result.wall_s * chance.uniform(0.5, 2), 6),
        )
        for result in first.results
    ]
    return replace(first, results=tuple(results), combined_score=first.combined_score - chance.random())


def write(folder: Path, programs: int, source: str, evaluation: Evaluation, *, texts: bool) -> None:
    chance = random.Random(1)
    archive = Archive.create(folder, config_text="", identity={"task": "placement", "suite": "adrs"})
    sources: dict[str, str] = {}
    latest: Sequence[ProgramRecord] = ()
    then, cpu = time.monotonic(), own_cpu()
    for number in range(programs):
        parents: list[ProgramRecord] = []
        patch, made = "", source
        if number:
            parents = [chance.choice(latest[-20:])]
            made, patch = edited(sources[parents[0].commit], chance)
            prompt, answer = None, patch
            if texts:
                shown = [sources[record.commit] for record in chance.sample(latest[-20:], min(1, len(latest)))]
                prompt = "\n".join((RULES, sources[parents[0].commit], *shown))[:24_000] + prose(chance, 1_000)
                patch = answer = f"{prose(chance, 4_000)}\n{patch}"
            archive.asked(make_question(number, parents), prompt)
            archive.answered(number, 0, Completion(text=answer))
        program = make_made(
            number,
            evaluations(evaluation, chance) if number else evaluation,
            parents=tuple(parent.commit for parent in parents),
            origin=Origin(kind=PatchKind.DIFF, model="m", patch_name=f"step_{number}", description=prose(chance, 300)),
            source_hash=hashlib.sha256(made.encode()).hexdigest(),
        )
        record = archive.evaluated(program, files=one_file(made), patch_text=patch, answers=None)
        sources[record.commit] = made
        latest = archive.reader.programs
        if (number + 1) % max(100, programs // 5) == 0 or number + 1 == 100:
            now, used = time.monotonic(), own_cpu()
            print(f"  until program {number + 1:>6}: {now - then:6.1f} s, {used - cpu:6.1f} s CPU in all", flush=True)
    archive.close()


def _milliseconds(what: Callable[[], object]) -> float:
    began = time.perf_counter()
    what()
    return 1000 * (time.perf_counter() - began)


def measure(folder: Path, programs: int) -> None:
    files = [path for path in folder.rglob("*") if path.is_file()]
    taken = sum(path.stat().st_blocks * 512 for path in files)
    journal = (folder / "journal.jsonl").stat().st_size
    print(
        f"  on disk {taken / 1e6:.1f} MB: {taken / programs / 1000:.2f} KB a program, the journal "
        f"{journal / programs / 1000:.2f} KB of it; {len(files)} files, {len(files) / programs:.3f} a program"
    )
    for opened in (RunReader, Archive):
        began, cpu = time.monotonic(), own_cpu()
        opened.open(folder).close()
        kind = "writing" if opened is Archive else "reading"
        print(f"  opened for {kind}: {time.monotonic() - began:.2f} s, {own_cpu() - cpu:.2f} s CPU")
    with RunReader.open(folder) as reader:
        with Archive.open(folder) as writer:
            parent = writer.reader.programs[-1]
            writer.asked(make_question(programs, [parent]), None)
        began = time.monotonic()
        events = reader.more()
        print(f"  followed {events} event(s) in {1000 * (time.monotonic() - began):.2f} ms")
        since = reader.timeline.events - events - 3  # and a program with its question and answer
        found = sorted(_milliseconds(lambda: changes(reader, since)) for _ in range(50))
        print(f"  the lines sent to a page: {found[25]:.2f} ms (the slowest of 50: {found[-1]:.2f} ms)")
        print(f"  the whole document of the run: {_milliseconds(lambda: run_document('run', reader)):.0f} ms")
        began = time.monotonic()
        for record in reader.programs[-100:]:
            reader.files(record)
        print(f"  read a source in {10 * (time.monotonic() - began):.2f} ms")
    began = time.monotonic()
    subprocess.run([sys.executable, "-m", "evolve", "list", str(folder)], check=True, stdout=subprocess.DEVNULL)
    print(f"  `list` of it: {time.monotonic() - began:.2f} s")


def main() -> None:
    programs = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    task = load_task("placement")
    source = task.initial.read_text()
    with SandboxedEvaluator(task, task.suite(), workers=1) as evaluator:
        evaluation = evaluator.evaluate(one_file(source))
    for texts in (False, True):
        print("with prompts of 25 KB and answers of 5 KB" if texts else "offline")
        with tempfile.TemporaryDirectory() as name:
            write(Path(name) / "run", programs, source, evaluation, texts=texts)
            measure(Path(name) / "run", programs)


if __name__ == "__main__":
    main()
