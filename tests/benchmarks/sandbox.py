"""Sandboxed scoring on `adrs` against a new interpreter for each candidate.

Usage: python -m tests.benchmarks.sandbox [N]

The new interpreter runs an evaluate.py that gives the same verdicts by the same judge, unconfined.
Everything is measured in one run, in turn, with two workers; the ratios are what counts.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from evaluator.evaluator import SandboxedEvaluator
from evaluator.sandbox import bubblewrap
from evaluator.sandbox.layers import OF_CANDIDATE
from evaluator.sandbox.options import Confinement, SandboxOptions
from evaluator.sandbox.supervisor import Candidate
from evaluator.sandbox.worker import Worker, WorkerSettings
from evaluator.task_files import load_task
from tests.builders import one_file

ROOT = Path(__file__).resolve().parent.parent.parent
TRIVIAL = """def compute_model_placement(gpu_num, models):
    placement = {gpu: [] for gpu in range(gpu_num)}
    for index, model in enumerate(models):
        placement[index % gpu_num].append(model)
    return placement
"""
EVALUATE = """import sys
sys.path.insert(0, {root!r})
{imports}
from evaluator.task_files import load_task
task = load_task("placement")
suite = task.suite("adrs")
adapter, space = {{}}, {{}}
exec(task.adapter_source, adapter)
exec(open(sys.argv[1]).read(), space)
verdicts = []
for instance in suite.instances:
    arguments, encode = adapter["prepare"](instance.data)
    verdicts.append(task.judge.judge(instance, encode(space[task.entry_point](*arguments))))
print(task.judge.summarise(verdicts, suite.instances).score)
"""
WORKERS = 2


def rate(score: Callable[[int], object], count: int) -> float:
    """Candidates per second with two at a time."""
    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(score, range(2 * WORKERS)))
        began = time.perf_counter()
        list(pool.map(score, range(count)))
        return count / (time.perf_counter() - began)


def interpreters(folder: Path, imports: str, count: int) -> float:
    (folder / "candidate.py").write_text(TRIVIAL)
    (folder / "evaluate.py").write_text(EVALUATE.format(imports=imports, root=str(ROOT)))
    command = [sys.executable, str(folder / "evaluate.py"), str(folder / "candidate.py")]
    return rate(lambda _: subprocess.run(command, check=True, capture_output=True), count)


def fork_to_loaded_ms(
    settings: WorkerSettings, confinement: Confinement, evaluator: SandboxedEvaluator, count: int
) -> float:
    """The median time from the order to fork until the program is loaded."""
    worker = Worker(settings, confinement)
    times = []
    for _ in range(count):
        began = time.perf_counter()
        with Candidate(worker, evaluator.suite.limits) as candidate:
            assert candidate.load(TRIVIAL, 1).failure is None
            times.append(1000 * (time.perf_counter() - began))
    worker.close()
    return statistics.median(times)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    task = load_task("placement")
    suite = task.suite("adrs")
    program = bubblewrap.find()
    kinds = {"none": Confinement(layers=()), "standard": Confinement()}
    if program is not None:
        kinds["strong"] = Confinement(bubblewrap=program)
    settings = WorkerSettings(
        entry_point=task.entry_point,
        adapter_source=task.adapter_source,
        packages=task.packages,
        memory_mb=suite.limits.memory_mb,
        cpu_total_s=suite.limits.cpu_total_s,
    )
    rates: dict[str, list[float]] = {name: [] for name in kinds}
    latencies: dict[str, list[float]] = {name: [] for name in kinds}
    for _ in range(3):  # in turn, so that a busy moment does not fall on one of them alone
        for name, confinement in kinds.items():
            with SandboxedEvaluator(
                task, suite, workers=WORKERS, confined=SandboxOptions(confinement=confinement)
            ) as evaluator:
                rates[name].append(rate(lambda _: evaluator.evaluate(one_file(TRIVIAL)), count // 3))
                latencies[name].append(fork_to_loaded_ms(settings, confinement, evaluator, 50))
    with tempfile.TemporaryDirectory() as folder:
        plain = interpreters(Path(folder), "", count // 4)
        numpy = interpreters(Path(folder), "import numpy", count // 8)
    for name in kinds:
        best, latency = max(rates[name]), statistics.median(latencies[name])
        layers = ", ".join(OF_CANDIDATE) if name != "none" else "no layer"
        print(
            f"{name:9} {best:6.1f} candidates/s, {best / plain:5.1f} x an interpreter each, {best / numpy:5.1f} x with "
            f"numpy, fork to loaded {latency:.2f} ms ({layers})"
        )
    print(f"an interpreter for each: {plain:.1f} candidates/s, with numpy {numpy:.1f}")
    cost = 100 * (max(rates["none"]) / max(rates["standard"]) - 1)
    print(f"protection at standard costs {cost:.1f} % of a candidate's time")


if __name__ == "__main__":
    main()
