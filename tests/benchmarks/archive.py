"""Writing and opening a large archive. Usage: python tests/benchmarks/archive.py [PROGRAMS]"""

import hashlib
import resource
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from evaluator.evaluator import SandboxedEvaluator
from evaluator.task_files import load_task
from evolve.archive.archive import Archive
from evolve.completion import Completion
from evolve.program import Origin, PatchKind


def own_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    programs = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    task = load_task("placement")
    source = task.initial.read_text()
    with SandboxedEvaluator(task, task.suite(), workers=1) as evaluator:
        evaluation = evaluator.evaluate(source)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "run"
        archive = Archive.create(folder, config_text="", identity={"task": "placement", "suite": "adrs"})
        parent: list[str] = []
        then, cpu = time.monotonic(), own_cpu()
        for number in range(programs):
            if number:
                choice = {"kind": "diff", "island": 0, "parents": parent, "inspirations": [], "model": "m"}
                archive.asked(number, 0, prompt=f"prompt {number}\n" * 200, **choice)
                archive.answered(number, 0, Completion(text=f"answer {number}\n" * 60))
            record = archive.evaluated(
                number,
                0,
                source=f"{source}\n# {number}\n",
                patch_text=f"patch {number}\n" * 20,
                origin=Origin(kind=PatchKind.DIFF, model="m", patch_name=f"step_{number}", description="a reason"),
                parents=parent,
                inspirations=[],
                island=0,
                source_hash=hashlib.sha256(str(number).encode()).hexdigest(),
                evaluation=replace(evaluation, combined_score=evaluation.combined_score - number / 1e6),
            )
            parent = [record.commit]
            if (number + 1) % max(100, programs // 10) == 0 or number + 1 == 100:
                now, used = time.monotonic(), own_cpu()
                print(f"until program {number + 1:>6}: {now - then:6.1f} s, {used - cpu:6.1f} s CPU in all", flush=True)
        archive.close()
        for write in (False, True):
            began, cpu = time.monotonic(), own_cpu()
            Archive.open(folder, write=write).close()
            kind = "writing" if write else "reading"
            print(f"opened for {kind}: {time.monotonic() - began:.2f} s, {own_cpu() - cpu:.2f} s CPU")


main()
