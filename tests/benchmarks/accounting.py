"""How much of the CPU time of a process tree its account finds: at the end, and when its limit ends it.

Usage: python -m tests.benchmarks.accounting

Each script takes SPENT seconds of CPU in many short processes. Printed is what the account has of it without a limit,
and what had been spent when a limit of LIMIT seconds ended the tree; both at each level that this machine has.
"""

from evaluator.sandbox import tree
from tests.evaluator.trees import run

SPENT, LIMIT = 2.0, 1.0
SPIN = (
    "import os, signal, time\ndef spin(s):\n    end = time.process_time() + s\n"
    "    while time.process_time() < end: pass\n"
)
EACH = "for _ in range(100):\n    if os.fork() == 0:\n        {}\n        os._exit(0)\n    {}\n"
ALONE = "try: os.wait()\n    except ChildProcessError: pass"
WAYS = {
    "waited for": EACH.format("spin(0.02)", "os.wait()"),
    "ignored": "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n" + EACH.format("spin(0.02)", ALONE),
    "orphaned": EACH.format("os.fork() or spin(0.02)", "os.wait()") + "time.sleep(1)\n",
}


def main() -> None:
    for level in [found.level for found in tree._options([])]:
        for way, text in WAYS.items():
            whole, ended = run(level, SPIN + text), run(level, SPIN + text, cpu_s=LIMIT)
            print(f"{level:9} {way:11} found {whole.cpu_s:.3f} of {SPENT:.1f} s spent; ended at {ended.cpu_s:.3f} s")


if __name__ == "__main__":
    main()
