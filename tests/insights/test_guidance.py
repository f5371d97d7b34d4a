"""Who is handed which recommendation, what an answer says of it, and what instances say of a score."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from evaluator.objective import Direction
from evolve.archive.events import Status
from evolve.core.completion import Followed
from evolve.insights.advisor import open_recommendations
from evolve.insights.citations import recommendation
from evolve.insights.credit import Tally, ratio, steps
from evolve.insights.facts import Fact
from evolve.insights.outcomes import Trial, failed_on, followed_by, parse_followed, same_advice
from tests.insights.a_run import a_run

trials = st.builds(
    Trial,
    generation=st.integers(1, 30),
    document=st.just(6),
    number=st.integers(1, 5),
    parent=st.integers(0, 30),
    followed=st.none() | st.sampled_from(list(Followed)),
    status=st.sampled_from([Status.EVALUATED, Status.REFUSED, Status.ASKED]),
    worse=st.booleans(),
)


def trial(generation: int, followed: Followed | None, parent: int = 0, status: Status = Status.EVALUATED) -> Trial:
    return Trial(generation=generation, document=6, number=1, parent=parent, followed=followed, status=status)


@given(st.lists(st.lists(trials, max_size=6), max_size=5), st.frozensets(st.integers(0, 30)))
def test_nobody_is_handed_what_is_followed_or_failed_and_the_least_used_come_first(
    tried: list[list[Trial]], line: frozenset[int]
) -> None:
    given = [tried[number - 1] for number in open_recommendations(tried, line)]
    open_to_it = [one for one in tried if not followed_by(line, one) and not failed_on(line, one)]
    assert given == sorted(open_to_it, key=len)


def test_the_most_promising_of_the_unused_comes_first() -> None:
    once = [trial(4, Followed.NO)]
    assert open_recommendations([[], [], []], ()) == [1, 2, 3]
    assert open_recommendations([once, [], []], ()) == [2, 3, 1]
    assert open_recommendations([once, once, once], ()) == [1, 2, 3]
    assert open_recommendations([], ()) == []


def test_what_failed_on_a_line_is_not_handed_to_it_again() -> None:
    failed = [replace(trial(4, Followed.YES, parent=3), worse=True)]
    assert open_recommendations([failed, [trial(5, None)] * 3], {0, 3}) == [2]
    assert open_recommendations([failed, [trial(5, None)] * 3], {0, 2}) == [1, 2]
    ignored = [replace(trial(4, Followed.NO, parent=3), worse=True)]
    assert open_recommendations([ignored, [trial(5, None)] * 3], {0, 3}) == [1, 2]


def test_a_line_follows_what_an_ancestor_was_made_from_or_what_is_said_to_be_there() -> None:
    assert followed_by({0, 4, 9}, [trial(4, Followed.YES)])
    assert followed_by({0, 4, 9}, [trial(4, Followed.PARTLY)])
    assert followed_by({0, 3, 9}, [trial(7, Followed.ALREADY_THERE, parent=3, status=Status.REFUSED)])
    for followed in (Followed.NO, None):
        assert not followed_by({0, 4, 9}, [trial(4, followed)])
    assert not followed_by({0, 9}, [trial(4, Followed.YES)])
    assert not followed_by({0, 4}, [trial(4, Followed.YES, status=Status.REFUSED)])


def test_the_same_title_is_the_same_advice() -> None:
    first, second = ({fact.generation: fact for fact in a_run()[:count]} for count in (5, 16))
    second[4] = replace(second[4], combined_score=26.3)

    def key(text: str, facts: Mapping[int, Fact] = first) -> str:
        return same_advice(recommendation(text, facts))

    assert key("**Longer steps**: go far.") == key("** longer  Steps **: farther still, 0.25.")
    assert key("**Start from [gen 4]**: x") == key("**Start from [gen 4]**: y", second)
    assert key("**Start from [gen 4]**: x") != key("**Start from [gen 3]**: x")
    assert key("Swap pairs.") == key("swap pairs") != key("Swap triples.")


@given(
    st.sampled_from(list(Followed)),
    st.sampled_from(["{}", " {} ", "\n{}\n", "{}."]),
    st.booleans(),
    st.sampled_from(["", "<DIFF>\n<<<<<<< SEARCH\na\n=======\n'<FOLLOWED>no</FOLLOWED>'\n>>>>>>> REPLACE\n</DIFF>"]),
)
def test_what_an_answer_says_is_read_in_any_case_and_never_out_of_code(
    message: Followed, form: str, upper: bool, code: str
) -> None:
    word = form.format(message.value)
    tag = f"<FOLLOWED>{word.upper() if upper else word}</FOLLOWED>"
    assert parse_followed(f"<NAME>x</NAME>\n{tag.lower() if upper else tag}\n{code}") is message


@given(st.text())
def test_anything_else_counts_as_unsaid(text: str) -> None:
    assert parse_followed(text.replace("<", "")) is None
    for other in ("yes | partly | no | already there", "perhaps", "", "yes</FOLLOWED><FOLLOWED>no"):
        assert parse_followed(f"<FOLLOWED>{other}</FOLLOWED>") is None


@given(st.lists(st.tuples(st.none() | st.fractions(), st.none() | st.fractions())), st.sampled_from(list(Direction)))
def test_a_tally_counts_every_instance_once(pairs: list[tuple[Fraction | None, ...]], direction: Direction) -> None:
    ours, theirs = ([ratio(None if pair[side] is None else str(pair[side])) for pair in pairs] for side in (0, 1))
    found = Tally.of(steps(ours, theirs, direction))
    assert sum(found) == len(pairs)
    turned = Tally.of(steps(theirs, ours, direction))
    assert found == Tally(turned.worse, turned.same, turned.better)
    assert found.same == sum(one == other for one, other in pairs)
