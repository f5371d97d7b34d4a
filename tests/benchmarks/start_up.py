"""`evolve --help` against `python -c pass`, in turn. Usage: python tests/benchmarks/start_up.py [RUNS]"""

import statistics
import subprocess
import sys
import time

COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "evolve --help": [sys.executable, "-m", "evolve", "--help"],
}


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    took: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(runs + 1):
        for name, command in COMMANDS.items():
            began = time.perf_counter()
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
            took[name].append(time.perf_counter() - began)
    medians = {name: statistics.median(seconds[1:]) for name, seconds in took.items()}
    for name, median in medians.items():
        print(f"{name:<16} {1000 * median:6.1f} ms")
    low, high = medians.values()
    print(f"difference       {1000 * (high - low):6.1f} ms (goal: at most 120 ms)")


main()
