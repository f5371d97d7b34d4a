"""What a command leaves as its result, whatever processes it leaves behind: a file, or a line that it hands over."""

import pytest
from trees import at_both_levels, run

from evaluator.evaluation import Outcome

# `behind` makes a process that no one waits for and that ends with the tree; it does something again and again.
BEHIND = """
import os, signal, sys, time

def hand_over(text):
    unsent = text.encode()
    while unsent:
        unsent = unsent[os.write(int(os.environ["EVOLVE_RESULT_FD"]), unsent):]

def behind(act):
    ready, done = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        for n in range(10**9):
            act(n)
            if n == 3:
                os.write(done, b"d")
    os.wait()
    os.read(ready, 1)

def rewrite(n):
    with open("new", "w") as file:
        file.write(str(n))
    os.rename("new", "result")
"""
REWRITES = f"{BEHIND}\nhand_over('first\\n')\nbehind(lambda n: (hand_over(f'{{n}}\\n'), rewrite(n)))\n"


@at_both_levels
def test_the_first_line_that_is_handed_over_counts(level: str) -> None:
    """Although a process that was left behind has the pipe too, and rewrites the file."""
    ending = run(level, REWRITES)
    assert (ending.outcome, ending.result) == (Outcome.OK, b"first"), ending.output


@at_both_levels
@pytest.mark.parametrize(
    ("end", "outcome", "result"),
    [
        ("sys.exit(3)", Outcome.EXITED, b"first"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", Outcome.CRASH, None),
        ("time.sleep(60)", Outcome.CPU_LIMIT, None),
    ],
)
def test_a_command_that_ends_otherwise_has_no_other_result(
    level: str, end: str, outcome: Outcome, result: bytes | None
) -> None:
    ending = run(level, f"{REWRITES}{end}", cpu_total_s=0.5 if outcome is Outcome.CPU_LIMIT else 20.0)
    assert (ending.outcome, ending.result) == (outcome, result), ending.output


@at_both_levels
def test_a_file_is_read_when_every_process_is_dead(level: str) -> None:
    """Who was left behind says each number and then writes it: what is read is the last one, or the one before."""
    ending = run(level, f"{BEHIND}\nbehind(lambda n: (os.write(1, f'{{n}}\\n'.encode()), rewrite(n)))")
    last = int(ending.output.splitlines()[-1])
    assert ending.outcome is Outcome.OK
    assert int(ending.result or b"-2") in (last, last - 1)


@at_both_levels
def test_a_long_line_comes_back_whole_up_to_the_limit(level: str) -> None:
    ending = run(level, f"{BEHIND}\nhand_over('x' * (1 << 20) + '\\n')")
    assert (ending.outcome, ending.result) == (Outcome.OK, b"x" * (1 << 20))
    ending = run(level, f"{BEHIND}\nhand_over('x' * (1 << 20) + 'x\\n' + 'x' * (1 << 18))")
    assert (ending.outcome, ending.result) == (Outcome.OUTPUT_LIMIT, None)


@at_both_levels
def test_a_line_without_its_end_is_no_result_and_no_file_takes_its_place(level: str) -> None:
    ending = run(level, f"{BEHIND}\nrewrite(0)\nhand_over('unfinished')")
    assert (ending.outcome, ending.result) == (Outcome.OK, None)


@at_both_levels
def test_an_empty_line_is_the_first_one_and_no_file_takes_its_place(level: str) -> None:
    ending = run(level, f"{BEHIND}\nrewrite(0)\nhand_over('\\n')\nhand_over('second\\n')")
    assert (ending.outcome, ending.result) == (Outcome.OK, b"")
