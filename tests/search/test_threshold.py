"""What a search says of racing: a program below its threshold changes no later choice."""

from hypothesis import assume, given
from hypothesis import strategies as st

from evolve.archive.records import EndedGeneration, Status
from evolve.search.evolution import Evolution
from tests.seams.test_search_seam import histories, record, settings_of


@given(
    history=histories(),
    at=st.integers(1, 25),
    below=st.floats(1e-6, 30),
    behaviour=st.integers(0, 12),
    seed=st.integers(0, 3),
)
def test_a_program_below_the_threshold_changes_no_choice(
    history: list[EndedGeneration], at: int, below: float, behaviour: int, seed: int
) -> None:
    settings = settings_of(seed, elites=3)
    scored, stopped = Evolution(settings), Evolution(settings)
    for search in (scored, stopped):
        search.restore(history[:at])
    last = scored.threshold()
    assume(last is not None)
    assert last is not None
    parent = history[0].program.commit if history[0].program is not None else ""
    program = record(99, (parent,), last.combined_score - below, behaviour, "correct")
    ended = {"generation": 99, "status": Status.EVALUATED, "parent": parent}
    scored.ended(EndedGeneration(program=program, **ended))
    stopped.ended(EndedGeneration(program=None, **ended))
    for step in [None, *history[at:]]:
        for search in (scored, stopped) if step is not None else ():
            search.ended(step)
        assert [scored.choose(number) for number in range(1, 9)] == [stopped.choose(number) for number in range(1, 9)]


@given(history=histories())
def test_the_threshold_is_there_once_the_elites_are_full_and_never_falls(history: list[EndedGeneration]) -> None:
    search = Evolution(settings_of(0, elites=2))
    scores: list[float] = []
    behaviours = set()
    for ended in history:
        search.ended(ended)
        if ended.program is not None and ended.program.correct:
            behaviours.add(ended.program.behaviour)
        last = search.threshold()
        assert last is None or len(behaviours) >= 2
        if last is not None:
            scores.append(last.combined_score)
    assert scores == sorted(scores)
