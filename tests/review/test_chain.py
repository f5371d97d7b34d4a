import pytest

from evolve.errors import ArchiveError
from evolve.program import PatchKind
from evolve.review.lineage import chain, diffs


@pytest.fixture
def family(make_record):
    initial = make_record(0, 20.0, kind=PatchKind.INITIAL)
    uncle = make_record(1, 21.0, parents=(initial.commit,))
    father = make_record(2, 19.0, parents=(initial.commit,))
    child = make_record(5, 24.0, parents=(father.commit, uncle.commit), kind=PatchKind.CROSS)
    return {program.commit: program for program in (initial, uncle, father, child)}


def test_a_chain_runs_from_the_initial_program_by_first_parents(family, make_record):
    steps = chain(family, family[f"{5:040x}"])
    assert [step.program.generation for step in steps] == [0, 2, 5]
    assert [step.change for step in steps] == [None, -1.0, 5.0]
    assert [p.generation for p in steps[-1].others] == [1]


def test_the_initial_program_is_a_chain_of_its_own(family):
    assert len(chain(family, family[f"{0:040x}"])) == 1


def test_each_diff_is_against_the_parent(family):
    steps = chain(family, family[f"{5:040x}"])
    found = diffs(steps, lambda program: f"same\nx = {program.generation}\n", {commit: commit for commit in family})
    assert found[0] == ""
    assert "-x = 2\n+x = 5\n" in found[2]


def test_a_parent_that_is_not_on_record_is_named(family, make_record):
    with pytest.raises(ArchiveError, match="generation 7 names the parent ffff"):
        chain(family, make_record(7, parents=("f" * 40,)))


def test_a_circle_of_parents_is_refused(family, make_record):
    child = make_record(7, parents=(f"{7:040x}",))
    with pytest.raises(ArchiveError, match="not earlier"):
        chain({**family, child.commit: child}, child)
