"""Claims about who may be a parent, and with which chance."""

from hypothesis import given
from hypothesis import strategies as st

from evolve.archive.ranking import rank_key
from evolve.archive.records import ProgramRecord
from evolve.search.select import admit, is_guided, parent_weights, shortness
from tests.search.programs import program

records = st.lists(st.tuples(st.floats(0, 30), st.booleans(), st.integers(0, 20)), min_size=1, max_size=60).map(
    lambda rows: [program(n, s, correct=c, behaviour=str(b)) for n, (s, c, b) in enumerate(rows)]
)


@given(records, st.integers(1, 10))
def test_the_best_correct_program_is_always_an_elite(history: list[ProgramRecord], size: int) -> None:
    elites: tuple[ProgramRecord, ...] = ()
    for record in history:
        elites = admit(elites, record, size=size)
    correct = [record for record in history if record.correct]
    assert len(elites) <= size
    assert list(elites) == sorted(elites, key=rank_key)
    assert len({elite.behaviour for elite in elites}) == len(elites)
    if correct:
        # Where behaviours are equal so are scores in a real run; here the earlier program of a behaviour stays.
        first = {}
        for record in correct:
            first.setdefault(record.behaviour, record)
        if size >= len(first):
            assert elites[0] == min(first.values(), key=rank_key)
    else:
        assert elites == ()


@given(records)
def test_weights_are_finite_positive_and_fall_with_the_number_of_children(history: list[ProgramRecord]) -> None:
    fresh = parent_weights(history, {})
    used = parent_weights(history, {history[0].commit: 3})
    assert all(0 < weight <= 1 for weight in fresh)
    assert used[0] == fresh[0] / 4
    assert used[1:] == fresh[1:]


@given(st.integers(0, 10**6), st.floats(0, 1), st.floats(0, 1))
def test_what_is_unguided_stays_so_when_the_share_grows(seed: int, share: float, other: float) -> None:
    small, large = sorted((share, other))
    unguided = {n for n in range(50) if not is_guided(seed, n, unguided=small)}
    assert unguided <= {n for n in range(50) if not is_guided(seed, n, unguided=large)}
    assert is_guided(seed, 1, unguided=0.0)
    assert not is_guided(seed, 1, unguided=1.0)


def test_about_the_share_that_is_named_stays_unguided() -> None:
    unguided = sum(not is_guided(seed, n, unguided=0.2) for seed in range(20) for n in range(100))
    assert 340 < unguided < 460


@given(st.lists(st.tuples(st.sampled_from([1.0, 2.0]), st.integers(0, 99)), min_size=1, max_size=12))
def test_of_one_score_a_program_is_as_much_likelier_as_it_is_shorter(rows: list[tuple[float, int]]) -> None:
    history = [program(n, score, length=length) for n, (score, length) in enumerate(rows)]
    for score in (1.0, 2.0):
        lengths = [record.length for record in history if record.combined_score == score]
        weights = [w for record, w in zip(history, shortness(history), strict=True) if record.combined_score == score]
        assert weights == [min(lengths) / length if length else 1.0 for length in lengths]
