"""What a prompt shows apart from programs and scores: limits, instances, lines, differences. No message that goes
back to a model asks for another form than its prompt does."""

import dataclasses
import itertools
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.evaluation import InstanceResult, OrderRange, Outcome, StrictReport
from evaluator.feedback import feedback
from evaluator.objective import Direction, Objective
from evaluator.script_result import end_of
from evaluator.task import Instance, Suite
from evaluator.task_files import load_task
from evaluator.untrusted import block, cut, one_line
from evolve.core.completion import Completion
from evolve.core.errors import PatchError
from evolve.core.program import PatchKind, marker
from evolve.lang.languages import PYTHON
from evolve.patch import apply_patch, parse_patch
from evolve.proposal import Guidance, MadeFrom, Refusal, Request, ScoredProgram
from evolve.propose.building import build_program
from evolve.propose.differing import Form, difference
from evolve.propose.offline.proposer import OfflineProposer
from evolve.propose.prompts import Prompts
from evolve.propose.verdicts import first_and_last, with_code
from tests.builders import make_evaluation, make_origin, make_results, make_scored, one_file

TASK = load_task("placement")
SUITE = TASK.suite("adrs")
SORTING = load_task(str(Path(__file__).parent.parent / "data" / "sorting"))
KINDS = (PatchKind.DIFF, PatchKind.FIX, PatchKind.FULL, PatchKind.CROSS)


def source(*functions: str, marked: bool = True) -> str:
    body = "\n\n\n".join(functions)
    return (
        f"import math\n\n\n# EVOLVE-BLOCK-START\n{body}\n# EVOLVE-BLOCK-END\n"
        if marked
        else f"import math\n\n\n{body}\n"
    )


def function(name: str, *lines: str) -> str:
    return "\n".join([f"def {name}(gpu_num, models):", *(f"    {line}" for line in lines), "    return models"])


LONG = [f"models = sorted(models, key=lambda model: model.size + {number})" for number in range(30)]
SOLVE = function("compute_model_placement", *LONG)
PARENT = source(SOLVE, function("aid", "gpu_num += 1"), function("old", "gpu_num += 2"))


def scored(text: str, generation: int = 5, **changes: Any) -> ScoredProgram:
    evaluation = make_evaluation(
        score=21.0 + generation,
        results=make_results(instance.bound for instance in SUITE.instances),
        published_score=None,
        ceiling=26.3,
        metrics={},
        feedback=f"feedback of {generation}",
        runtime_s=0.0,
        peak_memory_mb=20.0,
    )
    origin = make_origin(model="m", patch_name=f"change_{generation}", description="")
    return make_scored(text, generation, dataclasses.replace(evaluation, **changes), origin)


def request(kind: PatchKind = PatchKind.DIFF, **changes: Any) -> Request:
    base = Request(seed=0, generation=21, attempt=0, kind=kind, parent=scored(PARENT), inspirations=())
    return dataclasses.replace(base, **changes)


def rendered(asked: Request, suite: Suite = SUITE) -> str:
    return Prompts(task=TASK, suite=suite, folder=None, max_tokens=100_000).render(asked)


def with_costs(costs: list[Fraction], **changes: Any) -> ScoredProgram:
    return scored(PARENT, results=make_results(costs), **changes)


def suite_of(bounds: list[Fraction | None]) -> Suite:
    own = SUITE.instances
    instances = tuple(Instance(index=i, data=own[i].data, bound=bound) for i, bound in enumerate(bounds))
    return dataclasses.replace(SUITE, instances=instances)


# -- what the evaluation knows -----------------------------------------------------------------------------------------


def test_limits_are_shown_with_what_was_used_of_them() -> None:
    limits = SUITE.limits
    slow = limits.cpu_per_instance_s * 0.0462
    results = [InstanceResult(instance=0, outcome=Outcome.OK, cost=Fraction(1), cpu_s=slow)]
    results += [InstanceResult(instance=1, outcome=Outcome.OK, cost=Fraction(1), cpu_s=limits.cpu_total_s * 0.5 - slow)]
    prompt = rendered(
        request(parent=scored(PARENT, results=tuple(results[:1]), peak_memory_mb=limits.memory_mb * 0.333))
    )
    output = re.search(r"slowest instance (\S+) of (\S+) s; memory (\S+) of (\S+) MB", prompt)
    assert output is not None
    assert float(output[1]) == pytest.approx(slow, rel=0.05)
    assert float(output[2]) == limits.cpu_per_instance_s
    assert float(output[3]) == pytest.approx(limits.memory_mb / 3, rel=0.05)
    assert float(output[4]) == limits.memory_mb
    total = re.search(r"CPU in all (\S+) of (\S+) s", rendered(request(parent=scored(PARENT, results=tuple(results)))))
    assert total is not None
    assert (float(total[1]), float(total[2])) == (limits.cpu_total_s / 2, limits.cpu_total_s)
    never = tuple(dataclasses.replace(one, outcome=Outcome.NOT_RUN, cost=None) for one in results)
    assert "limits used" not in rendered(request(parent=scored(PARENT, outcome=Outcome.LOAD_ERROR, results=never)))


def test_a_proposal_made_without_a_model_depends_on_nothing_that_a_clock_measured() -> None:
    def proposed(cpu_s: float) -> list[str]:
        results = tuple(
            dataclasses.replace(one, cpu_s=cpu_s, wall_s=cpu_s) for one in scored(PARENT).evaluation.results
        )
        text = TASK.initial.read_text(encoding="utf-8")
        parent = scored(text, results=results, runtime_s=cpu_s, peak_memory_mb=1000 * cpu_s)
        proposer = OfflineProposer(TASK.ingredients, entry_point=TASK.entry_point)
        asked = [request(parent=parent, generation=generation) for generation in range(1, 21)]
        assert {proposer.prompt(one) for one in asked} == {None}
        return [proposer.answer(one, None, lambda _: None).text for one in asked]

    assert proposed(0.001) == proposed(0.9)


def test_the_instances_that_hold_the_mean_back_come_first_with_their_share_of_the_gap() -> None:
    bounds = [Fraction(10)] * 20
    costs = [Fraction(10)] * 17 + [Fraction(16), Fraction(11), Fraction(13)]
    prompt = rendered(request(parent=with_costs(costs)), suite_of(list(bounds)))
    part = prompt.split("## Which instances hold it back")[1].split("\n## ")[0]
    assert "share of the total distance from the bounds, 10 (smaller values are better)" in part
    found = re.findall(r"instance (\d+) \(.*\): (\S+), bound (\S+), (\S+) %", part)
    assert found == [("17", "16", "10", "60"), ("19", "13", "10", "30")]
    assert "- the other 18: 10 % together; at their bound: 17" in part


def test_at_most_five_instances_are_named_and_none_where_all_are_at_their_bounds() -> None:
    bounds: list[Fraction | None] = [Fraction(10)] * 20
    prompt = rendered(request(parent=with_costs([Fraction(11 + index) for index in range(20)])), suite_of(bounds))
    assert len(re.findall(r"^- instance \d+", prompt, re.MULTILINE)) == 5
    at_bounds = rendered(request(parent=with_costs([Fraction(10)] * 20)), suite_of(bounds))
    assert "hold it back" not in at_bounds


def test_what_the_harness_counts_of_a_correct_program_is_said_once() -> None:
    bounds: list[Fraction | None] = [Fraction(10)] * 3
    suite, parent = suite_of(bounds), with_costs([Fraction(11), Fraction(12), Fraction(13)])
    counted = feedback(TASK, suite, parent.evaluation)
    assert "instance 2" in counted
    repeated = dataclasses.replace(parent.evaluation, feedback=f"{counted}\n\nThe script found a gap.")
    prompt = rendered(request(parent=dataclasses.replace(parent, evaluation=repeated)), suite)
    assert counted not in prompt
    assert "## Feedback of the evaluation\n\n| The script found a gap.\n" in prompt
    assert prompt.count("instance 2 (") == 1
    plain = dataclasses.replace(parent, evaluation=dataclasses.replace(parent.evaluation, feedback=counted))
    assert "## Feedback" not in rendered(request(parent=plain), suite)


@pytest.mark.parametrize(("direction", "first"), [(Direction.MINIMISE, "3"), (Direction.MAXIMISE, "1")])
def test_without_bounds_the_worst_values_come_first(direction: Direction, first: str) -> None:
    costs = [Fraction(4), Fraction(1), Fraction(5), Fraction(10)]
    parent = with_costs(costs, objective=Objective(per_instance=direction, metric="combined_score"))
    part = rendered(request(parent=parent), suite_of([None] * 4)).split("## Which instances hold it back")[1]
    named = re.findall(r"instance (\d+) \(.*\): (\S+), (\S+) %", part)
    assert named[0][0] == first
    assert [float(value) for _, value, _ in named] == sorted(map(float, costs), reverse=first == "3")
    assert {percent for _, value, percent in named if value == "10"} == {"50"}
    negative = with_costs([Fraction(-4), Fraction(3)])
    part = rendered(request(parent=negative), suite_of([None] * 2)).split("hold it back")[1].split("##")[0]
    assert part.count("\n- instance") == 2
    assert not re.search(r"\d %$|share", part, re.MULTILINE)


def test_a_range_over_other_orders_is_called_luck_where_it_is_one() -> None:
    for low, sentence in ((21.0, ". Differences within this range may be luck\n"), (26.0, "\n")):
        orders = OrderRange(median=26.0, low=low, high=26.0, n=5)
        prompt = rendered(request(parent=scored(PARENT, strict=StrictReport(agrees=True, confirmed=orders))))
        assert f"in 5 other orders of the input: {low:g} to 26, median 26{sentence}" in prompt


def test_it_is_shown_how_often_the_entry_point_is_called() -> None:
    task = load_task("bin_packing")
    prompt = Prompts(task=task, suite=task.suite("or3"), folder=None, max_tokens=100_000).render(request())
    assert "It is called for each item of an instance." in prompt
    assert "seeds `random` before every instance." in prompt
    assert "It is called once per instance." in rendered(request())


def test_speed_adds_nothing_but_where_the_score_is_made_of_it() -> None:
    for task, suite in ((TASK, SUITE), (SORTING, SORTING.suite(SORTING.default_suite))):
        prompt = Prompts(task=task, suite=suite, folder=None, max_tokens=100_000).render(request())
        assert ("speed within the limits adds nothing" in prompt) != task.uses_clock


def test_a_line_that_the_feedback_names_stands_next_to_its_code() -> None:
    number = PARENT.split("\n").index("    gpu_num += 2") + 1
    feedback = f"instance 3 (2 GPUs): NameError: no (line {number}, in old). And (line 99999) is none."
    failing = scored(PARENT, outcome=Outcome.EXCEPTION, feedback=feedback)
    prompt = rendered(request(PatchKind.FIX, parent=failing))
    assert (
        f"| instance 3 (2 GPUs): NameError: no (line {number}, in old: `gpu_num += 2`). And (line 99999) is" in prompt
    )
    assert with_code("line 3 of the input", one_file(PARENT)) == "line 3 of the input"


@pytest.mark.parametrize(
    ("made_from", "message"),
    [
        (MadeFrom(generation=3, value=24.5, change="2 slots worse"), "3: 2 slots worse\n"),
        (MadeFrom(generation=3, value=None, change=""), "3, which is not correct\n"),
        (MadeFrom(generation=3, value=24.5, change=""), "3 (combined_score = 24.5)\n"),
    ],
)
def test_how_the_parent_stands_to_its_own_parent_is_shown(made_from: MadeFrom, message: str) -> None:
    parent = dataclasses.replace(scored(PARENT), made_from=made_from)
    assert f"- made from generation {message}" in rendered(request(parent=parent))


@pytest.mark.parametrize("kind", KINDS)
def test_the_feedback_is_that_of_the_program_to_be_changed(kind: PatchKind) -> None:
    other = scored(source(SOLVE, function("other", "gpu_num += 3")), generation=9)
    prompt = rendered(request(kind, inspirations=(other,)))
    assert "| feedback of 5\n" in prompt
    assert "feedback of 9" not in prompt


# -- other programs ----------------------------------------------------------------------------------------------------


def test_another_program_is_shown_by_what_differs_and_a_crossover_gets_functions_whole() -> None:
    changed = function("compute_model_placement", *LONG, "gpu_num += 7")
    other = scored(source(changed, function("aid", "gpu_num += 1"), function("new", "gpu_num += 3")), generation=9)
    prompt = rendered(request(inspirations=(other,)))
    assert "```diff\n" in prompt
    assert "+    gpu_num += 7\n" in prompt
    assert "do not answer in this form" in prompt
    assert prompt.count(LONG[3]) == 1  # in the parent
    small = source(SOLVE, function("aid", "gpu_num += 8"))
    crossing = rendered(request(PatchKind.CROSS, inspirations=(scored(small, generation=9),)))
    assert "```diff" not in crossing
    assert "Parts that differ; it has no `old`:" in crossing
    assert function("aid", "gpu_num += 8") in crossing
    assert crossing.count(LONG[3]) == 1


def test_a_program_that_shares_little_is_shown_whole() -> None:
    own = source(function("compute_model_placement", *[f"x_{number} = gpu_num" for number in range(30)]))
    for kind in (PatchKind.DIFF, PatchKind.CROSS):
        assert own.rstrip() in rendered(request(kind, inspirations=(scored(own, generation=9),)))


def test_a_difference_cannot_be_read_as_a_patch() -> None:
    text = '    """\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n"""\n'
    other = PARENT.replace(f"    {LONG[3]}\n", f"    {LONG[3]}\n{text}")
    shown = difference(other, PARENT, PYTHON, whole_parts=False)
    assert shown.form is Form.DIFF
    with pytest.raises(PatchError):
        parse_patch(shown.text, PatchKind.DIFF)


_NAMES = st.sampled_from("abcdef")
_PARTS = st.dictionaries(_NAMES, st.integers(0, 3), max_size=6).map(
    lambda parts: source(SOLVE, *(function(name, f"gpu_num += {number}") for name, number in parts.items()))
)


@given(_PARTS, _PARTS, st.booleans())
def test_what_is_shown_of_another_program_and_the_parent_hold_all_of_it(
    other: str, parent: str, crossing: bool
) -> None:
    shown = difference(other, parent, PYTHON, whole_parts=crossing)
    lines = {line for line in other.split("\n") if line.strip() and not marker(line)}
    if shown.form is Form.DIFF:
        assert not crossing
        output = {line[1:] for line in shown.text.split("\n") if line[:1] in "+ "}
        gone = {line[1:] for line in shown.text.split("\n") if line.startswith("-")}
        assert gone <= set(parent.split("\n"))
    else:
        output = set(shown.text.split("\n"))
    assert lines <= output | set(parent.split("\n"))
    assert output <= set(other.split("\n"))


def test_a_program_that_does_not_parse_is_shown_by_its_lines_or_whole() -> None:
    broken = PARENT + "def (\n"
    assert difference(broken, PARENT, PYTHON, whole_parts=False).form is Form.DIFF
    assert difference(broken, PARENT, PYTHON, whole_parts=True).form is Form.WHOLE


# -- what goes back ----------------------------------------------------------------------------------------------------

CUT_BLOCK = "<DIFF>\n<<<<<<< SEARCH\nimport math\n"
ANSWERS = {
    "prose": "I would sort.",
    "block without end": CUT_BLOCK,
    "block without divider": CUT_BLOCK + ">>>>>>> REPLACE\n",
    "two dividers": CUT_BLOCK + "=======\n=======\n>>>>>>> REPLACE\n",
    "nearly": "<<<<<< SEARCH\nimport math\n",
    "both forms": "<DIFF>\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n</DIFF>\n<CODE>\nx = 1\n</CODE>",
    "no match": "<DIFF>\n<<<<<<< SEARCH\n    nothing_like_it()\n=======\n    b\n>>>>>>> REPLACE\n</DIFF>",
    "outside": "<DIFF>\n<<<<<<< SEARCH\nimport math\n=======\nimport cmath as\n>>>>>>> REPLACE\n</DIFF>",
    "ambiguous": "<DIFF>\n<<<<<<< SEARCH\n    return models\n=======\n    return {}\n>>>>>>> REPLACE\n</DIFF>",
    "invalid": "<DIFF>\n<<<<<<< SEARCH\n    gpu_num += 2\n=======\n    gpu_num +=\n>>>>>>> REPLACE\n</DIFF>",
    "a marker": "<DIFF>\n<<<<<<< SEARCH\n# EVOLVE-BLOCK-START\n=======\n>>>>>>> REPLACE\n</DIFF>",
    "writes a marker": "<DIFF>\n<<<<<<< SEARCH\n=======\n# EVOLVE-BLOCK-START\n>>>>>>> REPLACE\n</DIFF>",
    "too large": f"<DIFF>\n<<<<<<< SEARCH\n=======\n{'x' * 70000}\n>>>>>>> REPLACE\n</DIFF>",
    "code without end": "<CODE>\nimport math\nx = (\n",
    "code that is none": "<CODE>\ndef f(:\n</CODE>",
    "code with a marker alone": "<CODE>\n# EVOLVE-BLOCK-START\nx = 1\n</CODE>",
    "code with other markers": "<CODE>\n# EVOLVE-BLOCK-START\n# EVOLVE-BLOCK-END\n" * 2 + "</CODE>",
    "code that is too large": f"<CODE>\n{'x' * 70000}\n</CODE>",
    "a block with a name that is bound nowhere": "<DIFF>\n<<<<<<< SEARCH\n    gpu_num += 2\n=======\n"
    "    gpu_num += two\n>>>>>>> REPLACE\n</DIFF>",
    "a fence without end": "```python\nx = 1\n",
}
ENDINGS = ("length", "empty", "refusal", "content_filter", "oversize")
OF_BLOCKS = re.compile(
    r"send the whole patch|Copy (?:whole|the ind)|Quote a line|Add lines|only the lines that change|each block"
)
OF_CODE = re.compile(r"whole program|<CODE> and|inside <CODE>")


def refused(answer: Completion, kind: PatchKind, program: str) -> str | None:
    try:
        where = {"parent": one_file(program), "parent_works": True, "task": TASK}
        build_program(answer, kind=kind, known=lambda _: None, **where)  # type: ignore[arg-type]
    except PatchError as error:
        return str(error)
    return None


@pytest.mark.parametrize(("kind", "marked"), list(itertools.product(KINDS, (True, False))))
def test_no_refusal_asks_for_another_form_than_the_prompt(kind: PatchKind, marked: bool) -> None:
    program = PARENT if marked else source(SOLVE, function("old", "gpu_num += 2"), marked=False)
    asked = rendered(request(kind, parent=scored(program)))
    form = asked.split("# The form of your answer")[1].split("\n# ")[0]
    completions = {name: Completion(text=text) for name, text in ANSWERS.items()}
    completions |= {name: Completion(text="x", finish_reason=name) for name in ENDINGS}  # type: ignore[arg-type]
    refusals = {name: refused(answer, kind, program) for name, answer in completions.items()}
    output = {name: message for name, message in refusals.items() if message is not None}
    assert len(output) >= 18, [name for name, message in refusals.items() if message is None]
    for name, message in output.items():
        advice = message.split("The answer holds a whole program.")[-1]
        if kind in (PatchKind.FULL, PatchKind.CROSS):
            assert "<CODE>" in form
            assert not OF_BLOCKS.search(message), (name, message)
            assert "inside <DIFF>" not in message, (name, message)
        else:
            assert "<DIFF>" in form
            assert not OF_CODE.search(advice), (name, message)
        if not marked:
            assert "EVOLVE-BLOCK" not in form
            assert "evolvable part" not in form + message
            assert "between the markers" not in message, (name, message)


def test_no_cut_takes_less_than_what_is_said_of_it() -> None:
    for over in range(60):
        text = "x" * (200 + over)
        for shown in (cut(text, 200), one_line(text, 200), block(text, 200)):
            assert len(shown) <= len(text)
            assert ("characters cut" in shown) == (len(shown) < len(text))
    lines = [f"  line {number}, in solve" for number in range(100)]
    whole = "\n".join(lines)
    assert end_of(whole, len(whole) - 2 * len(lines[0])) == whole
    assert end_of(whole, len(whole) - 4 * len(lines[0])).startswith("[... ")


def test_an_answer_that_was_cut_off_is_quoted_by_its_ends_and_any_other_whole() -> None:
    lines = [f"line number {number}" for number in range(400)]
    text = "\n".join(lines)

    def quoted(reason: str, answer: str = text) -> str:
        refusals = (Refusal(answer=answer, message="Again.", reason=reason),)
        return rendered(request(refusals=refusals))

    for reason in ("length", "truncated", "oversize"):
        prompt = quoted(reason)
        assert "| line number 0\n" in prompt
        assert "| line number 399\n" in prompt
        assert "line number 200\n" not in prompt
        (left,) = re.findall(r"\| \[\.\.\. (\d+) lines with \d+ characters left out \.\.\.\]", prompt)
        assert int(left) + len(re.findall(r"^\| line number", prompt, re.MULTILINE)) == 400
    assert "line number 200\n" in quoted("no_match")
    assert first_and_last("\n".join(lines[:14])) == "\n".join(lines[:14])
    assert len(quoted("length", "x" * 1_000_000)) < len(quoted("length", "x")) + 5000


# -- the order ---------------------------------------------------------------------------------------------------------


def test_what_lasts_longest_stands_first_whatever_the_kind() -> None:
    learned = Guidance(
        document=2,
        standing="As of generation 2.",
        scratchpad="What works: sorting.",
        number=1,
        recommendation="Sort twice.",
    )
    first = rendered(request(PatchKind.DIFF, guidance=learned))
    second = rendered(
        request(
            PatchKind.FULL,
            parent=scored(source(SOLVE), generation=8),
            guidance=dataclasses.replace(learned, number=2, recommendation="Sort once."),
        )
    )
    shared = first[: next(at for at, pair in enumerate(zip(first, second, strict=False)) if pair[0] != pair[1])]
    assert shared.rstrip().endswith("Answer in this form, with")
    assert "What works: sorting." in shared


def test_a_patch_of_the_asked_form_still_applies_for_every_kind() -> None:
    block = "<DIFF>\n<<<<<<< SEARCH\n    gpu_num += 2\n=======\n    gpu_num += 9\n>>>>>>> REPLACE\n</DIFF>"
    code = f"<CODE>\n{PARENT.replace('gpu_num += 2', 'gpu_num += 9')}</CODE>"
    for kind in KINDS:
        assert {apply_patch(parse_patch(text, kind), PARENT) for text in (block, code)} == {
            PARENT.replace("gpu_num += 2", "gpu_num += 9")
        }
