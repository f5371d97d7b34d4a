"""Short tours: the judge, the bounds, and where the instances come from."""

import itertools
import json
import math
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.evaluation import Outcome
from evaluator.sandbox.turns import Cancellation, Turns
from evaluator.script_run import ScriptRunner
from evaluator.task_files import load_task
from evaluator.tasks.suite_files import as_text
from evaluator.tasks.tours.distance import distance
from evaluator.tasks.tours.exact import lower_bound
from evaluator.tasks.tours.judge import length
from evaluator.tasks.tours.make_suites import FOLDER, SUITES, make
from tests.builders import one_file
from tests.evaluator.trees import at_both_levels, sandbox_of

TASK = load_task("tours")
POINT = st.tuples(st.integers(0, 999), st.integers(0, 999))


@given(POINT, POINT)
def test_a_distance_is_the_nearest_whole_number(one: tuple[int, int], other: tuple[int, int]) -> None:
    square = (one[0] - other[0]) ** 2 + (one[1] - other[1]) ** 2
    found = distance(one, other)
    assert (2 * found - 1) ** 2 <= 4 * square or found == 0
    assert 4 * square < (2 * found + 1) ** 2
    assert found == distance(other, one) == int(math.sqrt(square) + 0.5)


@given(st.lists(POINT, min_size=4, max_size=7))
def test_no_tour_is_shorter_than_the_bound(points: list[tuple[int, int]]) -> None:
    shortest = min(length(points, (0, *rest)) for rest in itertools.permutations(range(1, len(points))))
    assert lower_bound(points, rounds=40) <= shortest


@pytest.mark.parametrize("suite", SUITES)
def test_the_files_are_what_the_script_makes(suite: str) -> None:
    made = (FOLDER / "suites" / f"{suite}.json").read_text(encoding="utf-8")
    assert made == as_text(suite, "instances", make(SUITES[suite]))
    listed = json.loads((FOLDER / "bounds" / f"{suite}.json").read_text(encoding="utf-8"))["bounds"]
    instances = TASK.suite(suite).instances
    assert [entry["lower_bound"] for entry in listed] == [instance.bound for instance in instances]


def test_a_listed_bound_is_proven_again_and_one_that_is_too_high_is_not() -> None:
    (found,) = TASK.verify("points", [7])
    assert found.holds


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda tour: tour[:-1], "a list of"),
        (lambda tour: [*tour[:-1], tour[0]], "point 0 is visited more than once"),
        (lambda tour: [*tour[:-1], len(tour)], "whole number from 0 to"),
        (lambda tour: [*tour[:-1], True], "whole number"),
        (lambda tour: [*tour[:-1], float(tour[-1])], "whole number"),
        (lambda tour: None, "a list of"),
    ],
)
def test_what_is_no_tour_is_no_answer(change, says: str) -> None:
    instance = TASK.suite().instances[0]
    tour = list(range(len(instance.data["points"])))
    assert TASK.judge.judge(instance, tour).outcome is Outcome.OK
    verdict = TASK.judge.judge(instance, change(tour))
    assert verdict.outcome is Outcome.INVALID_OUTPUT
    assert says in verdict.detail


@given(st.randoms(use_true_random=False))
def test_a_tour_is_as_long_from_wherever_it_begins_and_either_way(rng) -> None:
    points = TASK.suite().instances[0].data["points"]
    tour = rng.sample(range(len(points)), len(points))
    cut = rng.randrange(len(tour))
    assert length(points, tour) == length(points, tour[cut:] + tour[:cut]) == length(points, tour[::-1])


def test_the_script_reads_nothing_of_this_package() -> None:
    assert "evaluator" not in (Path(TASK.folder) / "evaluate.py").read_text(encoding="utf-8")


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
@at_both_levels
def test_a_program_is_compiled_and_run_at_each_level_of_the_sandbox(level: str) -> None:
    """At `standard` no mode can be changed, by a linker neither."""
    assert TASK.script is not None
    source, suite = TASK.initial.read_text(encoding="utf-8"), TASK.suite()
    turns = Turns(1, Cancellation())
    runner = ScriptRunner(
        TASK.script, TASK.folder, suite, sandbox=sandbox_of(level), turns=turns, control=one_file(source)
    )
    found = runner.run(one_file(source))
    assert found.outcome is Outcome.OK, found.feedback
    assert found.result is not None and found.result.answers is not None
    verdicts = [TASK.judge.judge(one, tour) for one, tour in zip(suite.instances, found.result.answers, strict=True)]
    assert {verdict.outcome for verdict in verdicts} == {Outcome.OK}
    broken = runner.run(one_file(source.replace("static void improve(void)", "static void improve(void")))
    assert broken.outcome is Outcome.EXITED
    assert "does not compile" in broken.detail
    assert "program.c:" in broken.feedback
    assert "error:" in broken.feedback
    turns.close()


LEAVES_A_PROCESS = """
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *FORGED = "{\\"answers\\": [], \\"feedback\\": \\"forged\\"}";

int main(void) {
    int n;
    if (scanf("%d", &n) != 1) return 1;
    if (access("left", F_OK) != 0 && fork() == 0) {
        close(open("left", O_CREAT | O_WRONLY, 0600));
        setsid();
        if (fork()) _exit(0);
        for (int fd = 0; fd < 1024; fd++) {
            if (fd > 2 && write(fd, FORGED, strlen(FORGED)) > 0 && write(fd, "\\n", 1)) continue;
            close(fd);
        }
        for (;;) {
            int file = open("forged", O_CREAT | O_TRUNC | O_WRONLY, 0600);
            if (write(file, FORGED, strlen(FORGED)) > 0) rename("forged", "result.json");
            close(file);
            usleep(200);
        }
    }
    for (int i = 0; i < n; i++) printf("%d ", i);
    return 0;
}
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
@at_both_levels
def test_a_process_that_a_program_left_changes_no_result(level: str) -> None:
    assert TASK.script is not None
    suite, turns = TASK.suite(), Turns(1, Cancellation())
    control = TASK.initial.read_text(encoding="utf-8")
    runner = ScriptRunner(
        TASK.script, TASK.folder, suite, sandbox=sandbox_of(level), turns=turns, control=one_file(control)
    )
    found = runner.run(one_file(LEAVES_A_PROCESS))
    turns.close()
    assert found.outcome is Outcome.OK, found.feedback
    assert found.result is not None
    assert found.result.feedback == ""
    assert found.result.answers == tuple(list(range(len(one.data["points"]))) for one in suite.instances)
