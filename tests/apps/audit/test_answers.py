"""Claims about answer files: every common layout is read, the value is exact, and what is wrong is named."""

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.errors import TaskError
from evaluator.evaluation import Outcome
from evaluator.objective import Direction, ListedValue
from evaluator.task_files import load_task
from evolve.apps.audit.answers import MOST_BYTES, MOST_DEPTH, JudgedFile, decimal_text, judge_file, rank_among
from evolve.core.errors import InputError

Judge = Callable[..., JudgedFile]
STEPS = [0, 3, 4, 5, 6, 5, 4, 3, 0]
OVERLAP = Fraction(29, 75)
SQUARE = [[(2 * (k % 6) + 1) / 12, (2 * (k // 6) + 1) / 12, 1 / 12] for k in range(26)]
NESTED = [
    STEPS,
    {"values": STEPS},
    {"heights": STEPS},
    {"solution": {"values": STEPS}, "score": 0.38, "author": "A"},
    {"erdos-overlap": {"solution": {"values": STEPS}}, "other": {"solution": {"vectors": [[1, 2], [3, 4]]}}},
    [float(step) for step in STEPS],
    f"\ufeff{STEPS}",
]


@pytest.fixture
def judged(tmp_path: Path) -> Judge:
    """Judges a document that it writes to a file first."""

    def judge(document: Any, task: str = "erdos_overlap", name: str = "answer.json", **how: Any) -> JudgedFile:
        path = tmp_path / name
        path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
        return judge_file(path, load_task(task), **how)

    return judge


@pytest.mark.parametrize("document", NESTED, ids=range(len(NESTED)))
def test_heights_are_found_in_every_layout(judged: Judge, document: Any) -> None:
    result = judged(document)
    (answer,) = result.answers
    assert answer.value is not None
    assert abs(answer.value - OVERLAP) < Fraction(1, 10**17)
    assert answer.digits == "0.386666666666667"
    assert (answer.outcome, answer.valid, answer.tolerance) == (Outcome.OK, True, 0)
    assert (result.suite, answer.instance, answer.description) == ("n4096", 0, "a step function of at most 4096 pieces")
    assert result.evaluation.value == float(answer.value)


@pytest.mark.parametrize("text", ["0\n3\n4\n5\n6\n5\n4\n3\n0\n", "0,3,4,5,6,5,4,3,0"], ids=["column", "row"])
def test_heights_are_read_from_csv(judged: Judge, text: str) -> None:
    assert judged(text, name="answer.csv").answers[0].digits == "0.386666666666667"


def test_circles_are_read_from_csv_rows_and_from_centres_with_radii(judged: Judge) -> None:
    rows = "\n".join(",".join(map(repr, circle)) for circle in SQUARE)
    apart = {"centers": [circle[:2] for circle in SQUARE], "radii": [circle[2] for circle in SQUARE]}
    plain = judged(SQUARE, "circle_packing")
    assert judged(rows, "circle_packing", "answer.csv").answers == plain.answers
    assert judged(apart, "circle_packing").answers == plain.answers
    assert judged(apart, "circle_packing").key == "centers and radii"


def test_a_packing_that_needs_a_tolerance_shows_how_much_and_what_the_repair_leaves(judged: Judge) -> None:
    (exact,) = judged(SQUARE, "circle_packing").answers
    grown = [list(circle) for circle in SQUARE]
    grown[7][2] += 1e-6
    (answer,) = judged(grown, "circle_packing").answers
    assert answer.given is not None
    assert exact.value is not None
    assert answer.value is not None
    assert not answer.valid
    assert answer.tolerance == answer.given.tolerance
    assert float(answer.given.tolerance) == pytest.approx(1e-6, rel=1e-6)
    assert answer.given.value > answer.value
    assert "circles" in answer.given.why
    assert "overlap by 1e-06" in answer.given.why


def test_an_answer_is_taken_for_the_suite_and_instance_that_it_fits(judged: Judge) -> None:
    default = judged([1.0] * 30, "autocorrelation")
    assert default.suite == "first"
    assert judged([1.0] * 30, "autocorrelation", suite="large").suite == "large"
    long = judged([1.0] * 2001, "autocorrelation")
    assert (long.suite, long.answers[0].digits) == ("large", "2.000000000000000")
    thirty_two = judged([*SQUARE, *[[0.99, 0.99, 0.001 * k] for k in range(6)]], "circle_packing")
    assert (thirty_two.suite, thirty_two.answers[0].description) == ("n32", "32 circles")


def test_a_list_for_each_instance_is_judged_instance_by_instance(judged: Judge) -> None:
    order = list(range(100))
    result = judged({"schedules": [order, order[::-1], order]}, "txn_scheduling")
    assert [answer.instance for answer in result.answers] == [0, 1, 2]
    assert [answer.value for answer in result.answers][::2] == [452, 47]
    assert result.rank is not None
    assert result.rank.position == result.rank.listed + 1


def test_one_permutation_fits_several_instances_until_one_is_named(judged: Judge) -> None:
    order = list(range(100))
    with pytest.raises(InputError, match=r"answer\.json: it answers instances 0, 1, 2 of suite 'published'; say which"):
        judged(order, "txn_scheduling")
    (answer,) = judged(order, "txn_scheduling", instance=1).answers
    assert (answer.instance, answer.value) == (1, 38)
    with pytest.raises(InputError, match="no suite of task 'txn_scheduling' has an instance 70"):
        judged(order, "txn_scheduling", instance=70)


def test_an_answer_that_a_file_holds_twice_is_one_answer(judged: Judge) -> None:
    result = judged({"best": {"values": STEPS}, "values": STEPS, "history": [0.5, "x"]})
    assert (result.key, result.answers[0].digits) == ("best.values", "0.386666666666667")


def test_an_answer_that_is_one_of_several_is_named_by_its_key(judged: Judge) -> None:
    document = {"before": {"values": [1, 1]}, "after": {"values": STEPS}}
    with pytest.raises(InputError, match=r"holds several answers to task 'erdos_overlap': before\.values, after\.val"):
        judged(document)
    assert judged(document, key="after").answers[0].digits == "0.386666666666667"
    assert judged(document, key="before.values").answers[0].digits == "0.500000000000000"
    with pytest.raises(InputError, match=r"there is no key 'later' \(there: before, after\)"):
        judged(document, key="later")


REFUSED = [
    ("[NaN, 1]", "height 0 is nan"),
    ("[]", "there are 0 heights"),
    ("[1, -1]", "height 1 is negative"),
    ("[0.5, 1e999]", "height 1 is inf"),
    ('["0.5"]', "height 0 is a str"),
    ('"0.5"', "the answer is a str"),
    ("null", "the answer is a NoneType"),
    ("[true, 1]", "height 0 is a bool"),
    (f"[{','.join(['5e-324'] * 30_000)}]", "there are 30000 heights; there must be 1 to 4096"),
]


@pytest.mark.parametrize(("text", "why"), REFUSED, ids=[text[:12] for text, _ in REFUSED])
def test_what_is_no_answer_is_refused_with_the_judges_words(judged: Judge, text: str, why: str) -> None:
    result = judged(text)
    (answer,) = result.answers
    assert answer.outcome is Outcome.INVALID_OUTPUT
    assert (answer.value, answer.digits, answer.valid, answer.tolerance, answer.rank) == (None, "", False, None, None)
    assert why in answer.detail
    assert result.rank is None


def test_heights_above_one_are_infeasible_and_say_by_how_much(judged: Judge) -> None:
    (answer,) = judged([1, 0, 0, 0.5]).answers
    assert answer.outcome is Outcome.INFEASIBLE
    assert "height 0 is 1.3333333333333333 when" in answer.detail


WRONG = [
    ("{", {}, r"answer\.json: not JSON \(.*line 1"),
    ('{"values": [1], "values": [0.5, 1]}', {}, r"answer\.json: not JSON \(the key 'values' is there twice\)"),
    ("{}", {}, r"answer\.json: holds no list \(its keys: none\)"),
    ('{"score": 0.38, "code": "x"}', {}, r"holds no list \(its keys: score, code\)"),
    ('{"a": ["x"], "b": [[1]]}', {}, r"none of its 2 lists answers task .* \(a: height 0 is a str.*; b: height 0 is a"),
    ("[" * 100_000, {}, rf"answer\.json: (is nested deeper than {MOST_DEPTH} levels|not JSON)"),
    ('{"a": ' * 13 + "[1]" + "}" * 13, {}, rf"answer\.json: a(\.a)+: is nested deeper than {MOST_DEPTH} levels"),
    (f"[{'9' * 5000}]", {}, r"answer\.json: not JSON \(a whole number has 5000 characters; at most 4000"),
    (json.dumps({f"k{at}": [at] for at in range(101)}), {}, r"holds more than 100 lists; name the answer by its key"),
    (json.dumps({f"same{at}": [1] for at in range(101)}), {}, r"holds more than 100 lists; name the answer by its key"),
    ("1\nx\n", {"name": "answer.csv"}, r"answer\.csv line 2: 'x' is not a number"),
]


@pytest.mark.parametrize(("text", "how", "why"), WRONG, ids=[text[:12] for text, _, _ in WRONG])
def test_what_cannot_be_read_is_named_with_file_and_place(judged: Judge, text: str, how: Any, why: str) -> None:
    with pytest.raises(InputError, match=why):
        judged(text, **how)


def test_a_long_key_is_not_copied_for_each_list_in_its_value(judged: Judge) -> None:
    text = json.dumps({"k" * 1_000_000: [[]] * 100_000})  # 10^11 characters, were it copied
    assert judged(text).answers[0].detail.startswith("there are 100000 heights")


def test_a_file_that_is_too_large_missing_or_a_folder_is_refused(judged: Judge, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"has {MOST_BYTES + 1} bytes; at most {MOST_BYTES} are read"):
        judged(" " * (MOST_BYTES + 1))
    task = load_task("erdos_overlap")
    with pytest.raises(InputError, match=r"none\.json: cannot be read"):
        judge_file(tmp_path / "none.json", task)
    with pytest.raises(InputError, match="is not a file"):
        judge_file(tmp_path, task)


def test_a_suite_that_is_not_there_and_a_task_without_a_judge_are_refused(judged: Judge) -> None:
    with pytest.raises(TaskError, match="has no suite 'larger'"):
        judged(STEPS, suite="larger")
    with pytest.raises(InputError, match="cannot judge a file of answers"):
        judged(STEPS, str(Path(__file__).parents[2] / "data" / "sorting"))


def test_a_value_beyond_the_bound_has_no_rank_among_the_listed_ones(judged: Judge, tmp_path: Path) -> None:
    folder = tmp_path / "task"
    folder.mkdir()
    (folder / "judge.py").write_text("INSTANCES = [1]\n\n\ndef judge(instance, answer):\n    return answer[0]\n")
    (folder / "initial.py").write_text("def give(x):\n    return [x]\n")
    (folder / "bounds.json").write_text('{"bounds": [{"upper_bound": 5}]}')
    (folder / "task.yaml").write_text(
        "suites: {default: {bounds: bounds.json, best_known: [{value: 4, source: B}, {value: 3, source: C}]}}\n"
    )
    places = {value: judged([value], str(folder)).rank for value in (4.5, 4, 3.5, 3, 1)}
    assert {value: place.position for value, place in places.items() if place is not None} == {
        4.5: 1,
        4: 1,
        3.5: 2,
        3: 2,
        1: 3,
    }
    assert places[4] is not None
    assert [listed.source for listed in places[4].same] == ["B"]
    assert places[1] is not None
    assert places[1].next_better is not None
    assert places[1].next_better.source == "C"
    beyond = judged([6], str(folder))
    assert (beyond.rank, beyond.answers[0].value) == (None, 6)
    assert "is above the proven upper bound 5" in (beyond.evaluation.quarantine or "")


@given(st.fractions(), st.integers(0, 30))
def test_decimal_text_is_within_half_a_unit_of_its_last_place(value: Fraction, places: int) -> None:
    assert abs(Fraction(decimal_text(value, places)) - value) * 2 <= Fraction(1, 10**places)


@given(st.lists(st.integers(1, 50), max_size=8), st.integers(1, 50), st.sampled_from(Direction))
def test_a_place_counts_the_better_values(values: list[int], value: int, direction: Direction) -> None:
    listed = [ListedValue(value=one, source=str(at)) for at, one in enumerate(values)]
    place = rank_among(listed, Fraction(value), direction)
    assert (place is None) is (not values)
    if place is not None:
        assert place.position == 1 + sum(direction.sign * (one - value) > 0 for one in values)
        assert len(place.same) == values.count(value)


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=3),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["values", "a.b", "radii"]), inner),
        max_leaves=12,
    )
)
def test_any_document_ends_in_a_verdict_or_one_sentence(
    tmp_path_factory: pytest.TempPathFactory, document: Any
) -> None:
    path = tmp_path_factory.mktemp("any") / "answer.json"
    path.write_text(json.dumps(document))
    try:
        result = judge_file(path, load_task("circle_packing"))
    except InputError as refusal:
        assert str(refusal).startswith(str(path))
    else:
        assert all(answer.value is None for answer in result.answers)
