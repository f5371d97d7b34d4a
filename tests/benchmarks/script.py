"""Evaluator scripts: candidates a second on two workers, and where the time goes.

Usage: python -m tests.benchmarks.script [CANDIDATES]

Three scripts write the same result: a shell (what the sandbox alone takes), Python, and Python that imports numpy. For
each: wall time for a candidate, candidates a second, CPU of the script as it was measured from outside, and CPU of the
harness and of everything that it started, as the kernel counts it; on a busy machine only the CPU says something.
"""

import os
import resource
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from evaluator.opening import open_evaluator
from evaluator.task import Task
from evaluator.task_files import load_task
from tests.builders import one_file

WORKERS = 2
RESULT = '{"correct": true, "combined_score": 1.0}'
PROGRAM = "# EVOLVE-BLOCK-START\nX = 1\n# EVOLVE-BLOCK-END\n"
SCRIPTS = {
    "shell": ("score.sh", f"#!/bin/sh\necho '{RESULT}' > \"$2\"\n"),
    "python": ("score.py", f"import sys\nopen(sys.argv[2], 'w').write('{RESULT}')\n"),
    "numpy": ("score.py", f"import sys\nimport numpy\nopen(sys.argv[2], 'w').write('{RESULT}')\n"),
}


def make(folder: Path, name: str, text: str) -> Task:
    """A task with that script."""
    folder.mkdir()
    (folder / "initial.py").write_text(PROGRAM)
    (folder / "task.yaml").write_text(f"script: {name}\nlimits: {{wall_s: 60, cpu_total_s: 30}}\n")
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)
    return load_task(str(folder))


def cpu_s() -> tuple[float, float]:
    """CPU seconds of this process so far, and of all its children that have ended."""
    own, others = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime, others.ru_utime + others.ru_stime


def measure(task: Task, candidates: int) -> str:
    """One line of figures."""
    with open_evaluator(task, task.suite(), workers=WORKERS) as evaluator, ThreadPoolExecutor(WORKERS) as threads:
        sources = [f"{PROGRAM}# {number}\n" for number in range(candidates)]
        evaluator.evaluate(one_file(PROGRAM))
        began, own, children = time.perf_counter(), *cpu_s()
        found = list(threads.map(evaluator.evaluate, map(one_file, sources)))
        wall = time.perf_counter() - began
        own, children = (after - before for after, before in zip(cpu_s(), (own, children), strict=True))
    assert all(one.correct for one in found), next(one.detail for one in found if not one.correct)
    script = sum(one.runtime_s for one in found)
    figures = (1000 * seconds / candidates for seconds in (WORKERS * wall, script, own, children))
    wall_ms, script_ms, own_ms, children_ms = figures
    return (
        f"{candidates / wall:6.1f} a second ({evaluator.sandbox}); ms for each: {wall_ms:.1f} wall, CPU: "
        f"{script_ms:.1f} script, {children_ms:.1f} all that was started, {own_ms:.1f} harness"
    )


def main() -> None:
    candidates = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    print(f"{candidates} candidates, {WORKERS} workers, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as folder:
        for kind, (name, text) in SCRIPTS.items():
            print(f"{kind:7} {measure(make(Path(folder) / kind, name, text), candidates)}")


if __name__ == "__main__":
    main()
