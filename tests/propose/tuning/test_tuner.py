"""Who answers the kind `tune` in a run, with a real evaluator."""

from pathlib import Path

import pytest

from evolve.core.completion import Completion
from evolve.core.program import Origin, PatchKind, Program
from evolve.evaluation.evaluators import open_evaluators
from evolve.proposal import Request, ScoredProgram
from evolve.propose.tuning.tuner import Tuner
from tests.builders import one_file
from tests.script_folders import make_task

SOURCE = """\
# EVOLVE-BLOCK-START
import json, random
LEVEL = 3.5
def result():
    return json.dumps({"correct": True, "combined_score": LEVEL + CHANCE})
# EVOLVE-BLOCK-END
"""
CALM, NOISY = SOURCE.replace("CHANCE", "0"), SOURCE.replace("CHANCE", "random.random()")


def answered(folder: Path, source: str) -> Completion:
    task = make_task(folder, initial=CALM)
    with open_evaluators(task, None, workers=1, control=one_file(CALM)) as evaluators:
        evaluation = evaluators.evaluator.evaluate(one_file(source))
        assert evaluation.strict is None, "an elite that never was the best was measured once"
        origin = Origin(kind=PatchKind.DIFF, model="m", patch_name="p", description="")
        program = Program(commit="0" * 40, generation=1, files=one_file(source), parents=(), island=0, origin=origin)
        parent = ScoredProgram(program=program, evaluation=evaluation)
        request = Request(seed=0, generation=2, attempt=0, kind=PatchKind.TUNE, parent=parent, inspirations=())
        tuner = Tuner(evaluators.evaluator, evaluations=10, workers=1)
        return tuner.answer(request, None, lambda _: None)


@pytest.mark.parametrize(("source", "found"), [(CALM, "stop"), (NOISY, "no_gain")])
def test_a_parent_is_measured_again_before_its_numbers_are_searched(tmp_path: Path, source: str, found: str) -> None:
    answer = answered(tmp_path / "task", source)
    assert answer.finish_reason == found
    assert answer.tuning is not None
    assert (
        (answer.tuning["evaluations"] == 0) == ("another one at each measurement" in answer.text) == (source == NOISY)
    )
