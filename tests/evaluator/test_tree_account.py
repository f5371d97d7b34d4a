"""The CPU seconds of a tree, by the rules of which process waits for which, whatever happens between two looks."""

from hypothesis import given
from hypothesis import strategies as st

from evaluator.sandbox.tree_watch import Account, Sample

ROOT = 1


def sample(parent: int, own: float, waited: float = 0.0) -> Sample:
    return Sample(parent=parent, started=0, own_s=own, waited_s=waited)


def test_what_lives_counts_with_what_it_waited_for() -> None:
    account = Account(ROOT)
    account.note(2, sample(ROOT, 1.0, waited=2.0))
    account.note(3, sample(2, 4.0))
    assert account.cpu_s() == 7.0


def test_a_child_that_was_waited_for_counts_once() -> None:
    account = Account(ROOT)
    account.note(2, sample(ROOT, 1.0))
    account.note(3, sample(2, 4.0))
    account.vanished({3})
    account.note(2, sample(ROOT, 1.0, waited=4.5))
    assert account.cpu_s() == 5.5


def test_a_child_that_nobody_waited_for_counts_as_it_was_seen() -> None:
    account = Account(ROOT)
    account.note(2, sample(ROOT, 1.0))
    for child in range(3, 13):
        account.note(child, sample(2, 0.5))
        account.vanished({child})
        account.note(2, sample(ROOT, 1.0))
    assert account.cpu_s() == 6.0


def test_whole_families_that_are_gone_count_once() -> None:
    account = Account(ROOT)
    account.note(2, sample(ROOT, 1.0))
    account.note(3, sample(2, 2.0, waited=1.0))
    account.note(4, sample(3, 4.0))
    account.vanished({3, 4})
    assert account.cpu_s() == 8.0
    account.note(2, sample(ROOT, 1.0, waited=7.0))
    assert account.cpu_s() == 8.0


def test_what_tree_init_waited_for_counts_as_the_kernel_says() -> None:
    account = Account(ROOT)
    account.note(2, sample(ROOT, 1.0))
    account.note(3, sample(2, 4.0))
    account.collected(2, 6.0)  # it waited for 3 before it ended
    account.vanished({3})
    assert account.cpu_s() == 6.0


def test_what_a_collected_process_did_not_wait_for_is_added() -> None:
    account = Account(ROOT)
    account.note(2, sample(ROOT, 1.0))
    account.note(3, sample(2, 4.0))
    account.collected(2, 1.0)
    account.vanished({3})
    assert account.cpu_s() == 5.0


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[str, int, float]]:
    return draw(
        st.lists(
            st.tuples(st.sampled_from(["fork", "run", "die"]), st.integers(0, 50), st.floats(0.125, 8.0, width=16)),
            max_size=60,
        )
    )


@given(history=histories(), waits=st.booleans())
def test_where_every_change_is_seen_the_account_is_exact(history: list[tuple[str, int, float]], waits: bool) -> None:
    """A tree in which everybody waits for its children, or nobody does: not a second is lost, none counts twice."""
    account = Account(ROOT)
    alive: dict[int, list[float]] = {2: [ROOT, 0.0, 0.0]}
    spent, following = 0.0, 3

    def look() -> None:
        for process, (parent, own, waited) in alive.items():
            account.note(process, sample(int(parent), own, waited))

    look()
    for act, which, seconds in history:
        process = sorted(alive)[which % len(alive)]
        if act == "fork":
            alive[following] = [process, 0.0, 0.0]
            following += 1
        elif act == "run":
            alive[process][1] += seconds
            spent += seconds
        elif process != 2 and not any(parent == process for parent, _, _ in alive.values()):
            parent, own, waited = alive.pop(process)
            if waits:
                alive[int(parent)][2] += own + waited
            account.vanished({process})
        look()
        assert abs(account.cpu_s() - spent) < 1e-6
