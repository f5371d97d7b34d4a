"""5,000 items asked one at a time: wall time per item beyond the program's own, at each level.

Usage: python -m tests.benchmarks.interactive [ITEMS] [REPETITIONS]

The program is timed alone first, called in this process with the same arguments. What a whole evaluation takes beyond
that is counted against the sandbox: the fork, loading, both pipes, the adapter and the judge.
"""

import json
import random
import statistics
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

from evaluator.evaluator import SandboxedEvaluator
from evaluator.sandbox import bubblewrap
from evaluator.sandbox.options import Confinement, SandboxOptions
from evaluator.task import Instance, Limits, Suite, Task
from evaluator.task_files import load_task
from tests.builders import one_file

FOLDER = Path(__file__).parent.parent / "data" / "online"
CAPACITY = 1000
LIMITS = Limits(cpu_per_instance_s=60, cpu_total_s=60, memory_mb=512)


def alone(task: Task, instance: Instance, source: str) -> tuple[float, Fraction | None]:
    """Wall seconds inside the program when the conversation is held without any process, and what it came to."""
    space: dict[str, Any] = {}
    adapter: dict[str, Any] = {}
    exec(source, space)
    exec(task.adapter_source, adapter)
    assert task.judge.converse is not None
    entry, prepare, seconds = space[task.entry_point], None, 0.0
    conversation = task.judge.converse(instance)
    asked = conversation.after(None)
    while asked is not None:
        item = json.loads(asked)
        prepare = prepare or adapter["begin"](item)
        arguments, encode = prepare(item)
        began = time.perf_counter()
        result = entry(*arguments)
        seconds += time.perf_counter() - began
        asked = conversation.after(encode(result))
    assert conversation.verdict is not None
    return seconds, conversation.verdict.cost


def main() -> None:
    items = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    repetitions = int(sys.argv[2]) if len(sys.argv) > 2 else 9
    task = load_task(str(FOLDER))
    rng = random.Random(0)
    # About ten bins, since what grows with their number is the program's and the adapter's own.
    data = {"capacity": CAPACITY, "sizes": [rng.randint(1, 3) for _ in range(items)]}
    suite = Suite(name="long", instances=(Instance(index=0, data=data),), limits=LIMITS, digest="")
    source = task.initial.read_text()
    kinds = {"standard": Confinement()}
    if (program := bubblewrap.find()) is not None:
        kinds["strong"] = Confinement(bubblewrap=program)
    beyond: dict[str, list[float]] = {name: [] for name in kinds}
    own = []
    for _ in range(repetitions):  # in turn, so that a busy moment does not fall on one of them alone
        seconds, cost = alone(task, suite.instances[0], source)
        own.append(seconds)
        for name, confinement in kinds.items():
            with SandboxedEvaluator(
                task, suite, workers=1, confined=SandboxOptions(confinement=confinement)
            ) as evaluator:
                began = time.perf_counter()
                (result,) = evaluator.evaluate(one_file(source)).results
                beyond[name].append(time.perf_counter() - began - seconds)
            assert result.cost == cost, result.detail
    print(
        f"{items} items, {repetitions} times; the program's own: {1e6 * statistics.median(own) / items:.1f} us per item"
    )
    for name, times in beyond.items():
        low, middle, high = (1e6 * figure / items for figure in (min(times), statistics.median(times), max(times)))
        print(f"{name:9} {middle:6.1f} us of wall time per item beyond that (from {low:.1f} to {high:.1f})")


if __name__ == "__main__":
    main()
