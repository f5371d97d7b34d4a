"""What every search promises, for each that there is, whatever came before."""

import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.evaluation import Outcome
from evolve.archive.records import Contribution, EndedGeneration, ProgramRecord, Status
from evolve.config import KindWeights, SearchConfig
from evolve.program import Origin, PatchKind
from evolve.proposal import Choice, SearchSettings
from evolve.seams import Search
from evolve.search.strategies import STRATEGIES
from evolve.usage import Spending
from tests.seams.plugins import loaded

Open = Callable[[SearchSettings], Search]
ALL = frozenset({PatchKind.DIFF, PatchKind.FULL, PatchKind.CROSS, PatchKind.FIX})
ASKED = range(1, 12)


@pytest.fixture(scope="module", params=[*STRATEGIES, "ten lines of somebody else's"])
def open_search(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Open:
    if request.param in STRATEGIES:
        return STRATEGIES[request.param]
    made: Open = loaded(tmp_path_factory.mktemp("plugins"), "my_search").Newest
    return made


def record(
    generation: int,
    parents: tuple[str, ...],
    score: float,
    behaviour: int,
    how: str,
    *,
    inspirations: tuple[str, ...] = (),
    kind: PatchKind = PatchKind.DIFF,
    costs: str = "",
) -> ProgramRecord:
    return ProgramRecord(
        generation=generation,
        commit=f"{generation:040x}",
        parents=parents,
        inspirations=inspirations,
        island=0,
        origin=Origin(kind=kind, model="a", patch_name="a_patch", description=""),
        source_hash=f"hash{generation}",
        outcome=Outcome.EXCEPTION if how == "fails" else Outcome.OK,
        correct=how == "correct",
        combined_score=score,
        ceiling=None,
        quarantine="impossible" if how == "quarantined" else None,
        metrics={},
        behaviour=str(behaviour),
        costs=costs,
    )


def asking(rng: random.Random) -> dict[str, Any]:
    """Who was asked in a generation, what that took, and by how much it is better."""
    spent = Spending(calls=1, tokens_in=rng.randrange(9), known_usd=rng.choice([0.0, 0.5, 2.0]))
    part = Contribution(model=rng.choice("abc"), answered=True, applied=True, failed=0, spent=spent, fair=spent)
    gained = rng.choice([None, 0.0, rng.random()])
    return {"models": (part,), "arm": rng.choice([part.model, part.model, None]), "improvement": gained}


@st.composite
def histories(draw: st.DrawFn) -> list[EndedGeneration]:
    """Generations in the order in which they ended: programs that are correct (often with the behaviour of another),
    fail or are quarantined; refusals, duplicates and failures; each made from a program that was there.

    How many is drawn, what they are like comes from one number: to draw each value would take most of the tests' time.
    """
    rng = random.Random(draw(st.integers(0, 2**32)))

    def costs() -> str:
        return " ".join(str(Fraction(rng.randint(0, 9), 3)) for _ in range(3))

    def score() -> float:
        return rng.choice([0.0, 30.0, rng.uniform(0, 30), float(rng.randint(0, 30))])

    # What behaves alike scores alike.
    scored = [(score(), costs()) for _ in range(rng.choice([3, 10, 30]))]
    first = record(0, (), scored[0][0], 0, rng.choice(["correct", "fails"]), costs=scored[0][1])
    history = [EndedGeneration(generation=0, status=Status.EVALUATED, parent=None, program=first)]
    sound = [first.commit]
    numbers = list(range(1, draw(st.integers(1, 25))))
    rng.shuffle(numbers)
    for number in numbers:
        how = rng.choice(["correct", "correct", "fails", "quarantined", "refused", "duplicate", "failed"])
        parent = rng.choice(sound)
        program = None
        status = Status.EVALUATED
        if how in ("correct", "fails", "quarantined"):
            others = tuple(rng.sample(sound, rng.randint(0, min(2, len(sound)))))
            behaviour = rng.randrange(len(scored))
            told = {"inspirations": others, "kind": rng.choice([PatchKind.DIFF, PatchKind.CROSS])}
            told |= {"costs": scored[behaviour][1]}
            program = record(number, (parent,), scored[behaviour][0], behaviour, how, **told)
            if how != "quarantined":
                sound.append(program.commit)
        else:
            status = Status(how)
        history.append(EndedGeneration(generation=number, status=status, parent=parent, program=program, **asking(rng)))
    return history


def settings_of(
    seed: int, *, elites: int = 5, inspirations: int = 2, offline: bool = False, **search: object
) -> SearchSettings:
    kinds = frozenset({PatchKind.DIFF, PatchKind.CROSS, PatchKind.TUNE}) if offline else ALL
    return SearchSettings(
        config=SearchConfig(
            elites=elites,
            inspirations=inspirations,
            kinds=KindWeights(diff=0.4, full=0.2, cross=0.2, fix=0.2),
            **search,  # type: ignore[arg-type]
        ),
        seed=seed,
        shares={"never": 0.0, "a": 1.0, "b": 2.0, "c": 1.0},
        kinds=dict.fromkeys(("never", "a", "b", "c"), kinds),
    )


all_settings = st.builds(
    settings_of,
    st.integers(0, 99),
    elites=st.integers(1, 8),
    inspirations=st.integers(0, 3),
    offline=st.booleans(),
    stagnation=st.sampled_from([0, 0, 3, 15]),
    by_instance=st.sampled_from([0.0, 0.5, 1.0]),
    unguided=st.sampled_from([0.0, 0.2, 1.0]),
    islands=st.sampled_from([1, 1, 2, 3]),
    migrate_every=st.sampled_from([1, 2, 5]),
    models=st.sampled_from(["weights", "bandit"]),
)


def choices(search: Search) -> list[Choice]:
    return [search.choose(generation) for generation in ASKED]


def told(open_search: Open, settings: SearchSettings, history: list[EndedGeneration]) -> Search:
    search = open_search(settings)
    for ended in history:
        search.ended(ended)
    return search


@given(history=histories(), settings=all_settings)
def test_choosing_changes_nothing(open_search: Open, history: list[EndedGeneration], settings: SearchSettings) -> None:
    search = told(open_search, settings, history)
    asked = choices(search)
    assert choices(search) == asked
    assert [search.choose(generation) for generation in reversed(ASKED)] == asked[::-1]
    further = EndedGeneration(generation=99, status=Status.REFUSED, parent=history[0].program.commit, program=None)  # type: ignore[union-attr]
    search.ended(further)
    assert choices(search) == choices(told(open_search, settings, [*history, further]))


@given(history=histories(), settings=all_settings, share=st.floats(0, 1))
def test_a_history_taken_up_is_the_same_as_each_end_told(
    open_search: Open, history: list[EndedGeneration], settings: SearchSettings, share: float
) -> None:
    wanted = choices(told(open_search, settings, history))
    restored = open_search(settings)
    restored.restore(iter(history))
    assert choices(restored) == wanted
    cut = 1 + int(share * (len(history) - 1))
    resumed = open_search(settings)
    resumed.restore(history[:cut])
    for ended in history[cut:]:
        resumed.ended(ended)
    assert choices(resumed) == wanted


@given(history=histories(), settings=all_settings)
def test_what_is_chosen_is_on_record_and_can_be_believed(
    open_search: Open, history: list[EndedGeneration], settings: SearchSettings
) -> None:
    programs = {ended.program.commit: ended.program for ended in history if ended.program is not None}
    for choice in choices(told(open_search, settings, history)):
        shown = (choice.parent, *choice.inspirations)
        assert [programs[one.commit] for one in shown] == list(shown)
        assert [one.quarantine for one in shown] == [None] * len(shown)
        assert len({one.commit for one in shown}) == len(shown), "nothing is shown twice"


@given(history=histories(), settings=all_settings)
def test_what_is_asked_can_be_answered(
    open_search: Open, history: list[EndedGeneration], settings: SearchSettings
) -> None:
    for choice in choices(told(open_search, settings, history)):
        assert settings.shares[choice.model] > 0
        assert choice.kind in settings.kinds[choice.model]
        assert choice.inspirations or choice.kind is not PatchKind.CROSS


def made_from(program: ProgramRecord) -> tuple[str, ...]:
    return (*program.parents, *(program.inspirations if program.origin.kind is PatchKind.CROSS else ()))


@given(history=histories(), settings=all_settings)
def test_nothing_is_shown_beside_its_descendant_nor_crossed_with_its_ancestor(
    open_search: Open, history: list[EndedGeneration], settings: SearchSettings
) -> None:
    ancestors: dict[str, set[str]] = {}
    for ended in history:
        if (program := ended.program) is not None:
            above = made_from(program)
            ancestors[program.commit] = {*above, *(a for one in above for a in ancestors[one])}
    for choice in choices(told(open_search, settings, history)):
        for other in choice.inspirations:
            assert other.commit not in ancestors[choice.parent.commit]
            assert choice.kind is not PatchKind.CROSS or choice.parent.commit not in ancestors[other.commit]


@given(history=histories(), settings=all_settings)
def test_whether_it_is_guided_is_decided_by_nothing_but_seed_and_number(
    open_search: Open, history: list[EndedGeneration], settings: SearchSettings
) -> None:
    if open_search not in STRATEGIES.values():
        return  # whoever brings a strategy of their own may guide as they like
    guided = [choice.guided for choice in choices(told(open_search, settings, history))]
    assert guided == [choice.guided for choice in choices(told(open_search, settings, history[:1]))]


@given(history=histories(), settings=all_settings)
def test_two_of_one_seed_choose_the_same(
    open_search: Open, history: list[EndedGeneration], settings: SearchSettings
) -> None:
    first, second = (told(open_search, settings, history) for _ in range(2))
    assert choices(first) == choices(second)
