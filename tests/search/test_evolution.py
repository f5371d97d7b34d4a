"""Claims about what `evolve` and the plain strategies choose, given whole histories."""

import random
from dataclasses import replace

import pytest

from evolve.archive.events import Status
from evolve.archive.records import EndedGeneration, ProgramRecord
from evolve.core.config import KindWeights, SearchConfig
from evolve.core.errors import InputError
from evolve.core.program import PatchKind
from evolve.proposal import SearchSettings
from evolve.seams import Search
from evolve.search.population import Population
from evolve.search.strategies import open_search
from tests.search.programs import program

ALL = frozenset({PatchKind.DIFF, PatchKind.FULL, PatchKind.CROSS, PatchKind.FIX})


def opened(*, kinds: frozenset[PatchKind] = ALL, weights: KindWeights | None = None, **search: object) -> Search:
    config = SearchConfig(**{"kinds": weights or KindWeights(), **search})  # type: ignore[arg-type]
    return open_search(SearchSettings(config=config, seed=3, shares={"m": 1.0}, kinds={"m": kinds}))


def output(search: Search, *records: ProgramRecord) -> Search:
    for record in records:
        parent = record.parents[0] if record.parents else None
        search.ended(
            EndedGeneration(generation=record.generation, status=Status.EVALUATED, parent=parent, program=record)
        )
    return search


def refused(search: Search, parent: ProgramRecord, count: int, first: int = 1000) -> Search:
    for number in range(first, first + count):
        ended = EndedGeneration(generation=number, status=Status.REFUSED, parent=parent.commit, program=None)
        search.ended(ended)
    return search


def child(number: int, of: ProgramRecord, score: float, **more: object) -> ProgramRecord:
    return program(number, score, parents=(of.commit,), **more)  # type: ignore[arg-type]


FIRST = program(0, 1.0, costs="5 5 5")
BEST = child(1, FIRST, 3.0, costs="1 1 5")
SPECIAL = child(2, FIRST, 2.0, costs="4 4 1")
POOR = child(3, FIRST, 1.5, costs="5 5 4")


def parents(search: Search, count: int = 60) -> set[int]:
    return {search.choose(number).parent.generation for number in range(1, count)}


def test_the_best_is_refined_while_new_bests_come_and_then_those_that_are_best_on_an_instance() -> None:
    search = output(opened(stagnation=4, by_instance=1.0), FIRST, BEST, SPECIAL, POOR)
    assert parents(search) == {1}
    assert {search.choose(number).kind for number in range(1, 60)} == {PatchKind.DIFF, PatchKind.FULL}
    refused(search, BEST, 2)
    assert parents(search) == {1, 2}, "the third one is the best nowhere"
    better = child(9, BEST, 4.0, costs="1 1 2")
    assert parents(output(search, better)) == {9}


def test_of_several_bests_of_one_score_each_is_refined_and_the_shorter_one_more_often() -> None:
    long, short = (
        child(n, FIRST, 3.0, costs=costs, length=length) for n, costs, length in ((1, "1 1 5", 900), (2, "1 5 1", 300))
    )
    search = output(opened(), FIRST, long, short)
    drawn = [search.choose(number).parent.generation for number in range(1, 401)]
    assert set(drawn) == {1, 2}
    assert 250 < drawn.count(2) < 350, "three of four"


def test_drawn_by_score_every_elite_may_be_a_parent() -> None:
    search = output(opened(stagnation=0, by_instance=0.0), FIRST, BEST, SPECIAL, POOR)
    drawn = [search.choose(number).parent.generation for number in range(1, 400)]
    assert set(drawn) >= {1, 2, 3}
    assert drawn.count(1) > drawn.count(3)


def test_inspirations_come_from_the_better_half_or_are_the_best_on_an_instance() -> None:
    others = [child(n, FIRST, 3.0 - n / 10, costs="4 4 4") for n in range(2, 12)]
    special = child(12, FIRST, 0.5, costs="9 9 1")
    search = output(opened(), FIRST, BEST, *others, special)
    shown = [{one.generation for one in search.choose(number).inspirations} for number in range(1, 60)]
    assert set.union(*shown) == {*range(2, 8), 12}
    assert all(2 in one and len(one) == 2 for one in shown), "the best of them is always there"


def test_what_differs_from_the_parent_in_a_line_or_two_is_no_inspiration() -> None:
    def changed(number: int, of: ProgramRecord, lines: int) -> ProgramRecord:
        made = child(number, of, 3.0 - number / 10)
        return replace(made, origin=replace(made.origin, lines=lines))

    best = changed(1, FIRST, 9)
    tuned, again, apart = changed(2, best, 1), changed(3, best, 2), changed(4, best, 3)
    further, cousin = changed(5, tuned, 1), changed(6, tuned, 2)
    search = output(opened(inspirations=9), FIRST, best, tuned, again, apart, further, cousin)
    for number in range(1, 20):
        assert {one.generation for one in search.choose(number).inspirations} == {4, 6}


def test_while_nothing_is_correct_the_nearest_to_it_is_repaired() -> None:
    initial, nearer = program(0, 0.4, correct=False), program(1, 0.6, correct=False, parents=(f"{0:040x}",))
    offline = frozenset({PatchKind.DIFF, PatchKind.CROSS})
    for kinds, wanted in ((offline, PatchKind.DIFF), (ALL, PatchKind.FIX)):
        choice = output(opened(kinds=kinds), initial, nearer).choose(5)
        assert (choice.kind, choice.parent, choice.inspirations) == (wanted, nearer, ())


def test_a_repair_starts_from_the_best_failure_and_each_is_tried_once() -> None:
    only_fix = KindWeights(diff=0.0, full=0.0, cross=0.0, fix=1.0)
    failures = [child(4 + n, FIRST, score, correct=False) for n, score in enumerate((0.2, 0.9, 0.5, *[0.1] * 12))]
    search = output(opened(stagnation=0, weights=only_fix), FIRST, BEST, *failures)
    repaired = []
    for number in range(3):
        choice = search.choose(number)
        assert choice.kind is PatchKind.FIX
        repaired.append(choice.parent.generation)
        refused(search, choice.parent, 1, first=100 + number)
    assert repaired == [5, 6, 4]


def test_of_failures_that_succeed_alike_the_one_of_the_better_parent_is_repaired_then_the_newest() -> None:
    population = Population(elites=5)
    records = [FIRST, BEST, child(4, BEST, 0.5, correct=False), child(5, FIRST, 0.5, correct=False)]
    records.append(child(6, BEST, 0.5, correct=False))
    for record in records:
        parent = record.parents[0] if record.parents else None
        ended = EndedGeneration(generation=record.generation, status=Status.EVALUATED, parent=parent, program=record)
        population.ended(ended)
    assert [record.generation for record in population.failed] == [6, 4, 5]


def test_best_of_n_changes_the_initial_program_only_and_sequential_the_latest_best() -> None:
    history = (FIRST, SPECIAL, BEST, POOR)
    for strategy, parent in (("best_of_n", 0), ("sequential", 1)):
        search = output(opened(strategy=strategy), *history)
        assert parents(search) == {parent}
        chosen = [search.choose(number) for number in range(1, 60)]
        assert {choice.kind for choice in chosen} == {PatchKind.DIFF, PatchKind.FULL}
        assert {choice.inspirations for choice in chosen} == {()}


def test_memory_and_lineage_stay_bounded_however_long_a_run_is() -> None:
    rng, search = random.Random(1), opened(stagnation=0, elites=5)
    output(search, FIRST)
    known = {FIRST.commit: FIRST}
    for number in range(1, 400):
        choice = search.choose(number)
        inspirations = tuple(one.commit for one in choice.inspirations)
        costs = " ".join(str(rng.randint(1, 9)) for _ in range(3))
        made = child(number, choice.parent, rng.random(), costs=costs, inspirations=inspirations, kind=choice.kind)
        known[made.commit] = made
        output(search, made)
    lineage = search._lineage  # type: ignore[attr-defined]
    kept = lineage._ancestors
    assert len(kept) <= 5 + 3
    for commit, ancestors in kept.items():
        assert ancestors & set(kept) == above(commit, known) & set(kept)


def above(commit: str, known: dict[str, ProgramRecord]) -> set[str]:
    waiting, found = [commit], set[str]()
    while waiting:
        record = known[waiting.pop()]
        sources = record.parents + (record.inspirations if record.origin.kind is PatchKind.CROSS else ())
        waiting += [source for source in sources if source not in found]
        found |= set(sources)
    return found


def test_an_unknown_strategy_is_named_with_those_that_there_are() -> None:
    with pytest.raises(InputError, match=r"none of best_of_n, evolve, islands, sequential"):
        opened(strategy="beam")
