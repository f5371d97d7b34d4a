"""Claims about who becomes a parent."""

import random
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from evaluator.evaluation import Outcome
from evolve.archive.ranking import rank_key
from evolve.archive.records import ProgramRecord
from evolve.program import Origin, PatchKind
from evolve.search.select import admit, choose, parent_weights

KINDS = {PatchKind.DIFF: 0.75, PatchKind.CROSS: 0.25}


def program(generation: int, score: float, *, correct: bool = True, behaviour: str | None = None) -> ProgramRecord:
    return ProgramRecord(
        generation=generation,
        commit=f"{generation:040x}",
        parents=(),
        inspirations=(),
        island=0,
        origin=Origin(kind=PatchKind.DIFF, model="offline", patch_name=f"step_{generation}", description=""),
        source_hash=f"{generation:064x}",
        outcome=Outcome.OK if correct else Outcome.INFEASIBLE,
        correct=correct,
        combined_score=score,
        ceiling=30.0,
        quarantine=None,
        metrics={},
        behaviour=behaviour or f"behaviour-{generation}",
    )


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


def test_a_better_program_is_chosen_more_often() -> None:
    elites = tuple(program(n, 20 + n) for n in reversed(range(5)))
    chosen = Counter(
        choose(
            elites, elites[0], {}, kinds=KINDS, inspirations=2, model="m", rng=random.Random(str(n))
        ).parent.generation
        for n in range(300)
    )
    assert chosen[4] > chosen[2] > chosen[0]


@given(st.integers(0, 10_000), st.integers(0, 4), st.integers(1, 6))
def test_inspirations_are_other_elites_best_last(seed: int, count: int, elites_count: int) -> None:
    elites = tuple(program(n, 20 + n) for n in reversed(range(elites_count)))
    choice = choose(elites, elites[0], {}, kinds=KINDS, inspirations=count, model="m", rng=random.Random(seed))
    assert choice.parent not in choice.inspirations
    commits = {inspiration.commit for inspiration in choice.inspirations}
    assert len(commits) == len(choice.inspirations) == min(count, elites_count - 1)
    scores = [inspiration.combined_score for inspiration in choice.inspirations]
    assert scores == sorted(scores)
    if not choice.inspirations:
        assert choice.kind is PatchKind.DIFF


def test_while_nothing_is_correct_the_initial_program_is_to_be_mended() -> None:
    initial = program(0, 0.4, correct=False)
    for kinds, wanted in ((KINDS, PatchKind.DIFF), (KINDS | {PatchKind.FIX: 0.0}, PatchKind.FIX)):
        choice = choose((), initial, {}, kinds=kinds, inspirations=2, model="m", rng=random.Random(0))
        assert (choice.kind, choice.parent, choice.inspirations) == (wanted, initial, ())


def test_the_same_generator_chooses_the_same() -> None:
    elites = tuple(program(n, 20 + n) for n in reversed(range(9)))
    first, second = (
        [
            choose(elites, elites[0], {}, kinds=KINDS, inspirations=2, model="m", rng=random.Random(f"7:{n}"))
            for n in range(50)
        ]
        for _ in range(2)
    )
    assert first == second
