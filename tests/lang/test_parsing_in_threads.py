"""Programs are parsed in several threads: Python before 3.11.8 must not raise SystemError there."""

import gc
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from evolve.core.python_source import tree_of

SOURCE = "\n".join(f"def f{n}(x):\n    return [x * {n} + y for y in range({n}) if (y % 3, x)[0]]" for n in range(100))


def elsewhere(phase: str, info: dict[str, int]) -> None:
    """A collection is where the interpreter may turn to another thread in the middle of a tree."""
    time.sleep(0)


def test_many_threads_parse_at_a_time() -> None:
    before = gc.get_threshold()
    gc.set_threshold(20)
    gc.callbacks.append(elsewhere)
    ready = threading.Barrier(4)

    def parse(_: int) -> int:
        ready.wait()
        return sum(len(tree_of(SOURCE).body) for _ in range(5))

    try:
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(parse, range(4))) == [500] * 4
    finally:
        gc.callbacks.remove(elsewhere)
        gc.set_threshold(*before)
