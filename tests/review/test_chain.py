import pytest

from evolve.core.program import PatchKind
from evolve.review.overview import chain, diffs
from evolve.review.texts import short_commits


@pytest.fixture
def archive(recorded_runs, make_evaluation):
    """Of a run whose generation 3 is a cross of 2, which it was patched from, with 1."""
    run = recorded_runs("chained")
    initial = run.initial()
    uncle = run.propose(1, [initial], source="x = 1\n", evaluation=make_evaluation(score=21.0))
    father = run.propose(2, [initial], source="x = 2\n", evaluation=make_evaluation(score=19.0))
    run.propose(3, [father, uncle], source="x = 3\n", evaluation=make_evaluation(score=24.0), kind=PatchKind.CROSS)
    return run.archive.reader


def test_a_chain_runs_from_the_initial_program_by_first_parents(archive):
    assert [program.generation for program in chain(archive, archive.find("3"))] == [0, 2, 3]


def test_the_initial_program_is_a_chain_of_its_own(archive):
    assert len(chain(archive, archive.find("0"))) == 1


def test_each_diff_is_against_the_parent(archive):
    short = short_commits(program.commit for program in archive.programs)
    found = diffs(chain(archive, archive.find("3")), archive.files, short)
    assert found[0] == ""
    assert "-x = 2\n+x = 3\n" in found[2]
