"""Lower bounds on the makespan of a workload, by counting: the larger one of two relaxations.

*One key.* Every access to a key by a transaction comes later than the last write to it by each transaction that was
placed before. So the spans [first access, last write] of those that write it are disjoint in time: jobs on one
machine, each with a head (slots before the span) and a tail (slots after it). For any set of them the makespan is at
least its smallest head + the sum of its spans + its smallest tail (J. R. Jackson 1955; J. Carlier 1982). A read of the
key by a transaction that only reads it cannot share a slot with a write of another one; where every span is one slot,
a set with such a reader needs one slot more.

*Many keys.* Let d(a, b) be the least distance from the start of a to that of b when a is placed before b: the maximum
of their positions' differences + 1 over the pairs of operations that conflict. Where d is at least 1 both ways, a
starts before b exactly if it is placed before. In a set where that holds for every pair the starts follow one another
in the order of placing, and each but the first comes at least min over a of d(a, b) after the one before. So the
makespan is at least the sum of these minima without the largest of them + the smallest length in the set.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from evaluator.task import BoundCheck, Instance

_Job = tuple[int, int, int]  # head, slots, tail


def lower_bound(workload: Mapping[str, Any]) -> int:
    """A number of slots that no schedule of this workload can beat."""
    transactions = workload["transactions"]
    keys = sorted({key for _, operations in transactions for _, key, _ in operations})
    longest: int = max(length for length, _ in transactions)
    return max(longest, *(_of_key(transactions, key) for key in keys), _of_chains(transactions))


def _of_key(transactions: Sequence[Any], key: int) -> int:
    """The bound of one key: over the sets of all jobs with at least some head and at least some tail."""
    jobs, readers = _jobs(transactions, key)
    everything = jobs + readers
    best = 0
    for head in {job[0] for job in everything}:
        for tail in {job[2] for job in everything}:
            slots = [job[1] for job in jobs if job[0] >= head and job[2] >= tail]
            if slots:
                extra = set(slots) == {1} and any(job[0] >= head and job[2] >= tail for job in readers)
                best = max(best, head + sum(slots) + extra + tail)
    return best


def _jobs(transactions: Sequence[Any], key: int) -> tuple[list[_Job], list[_Job]]:
    """The accesses to a key: (spans of the transactions that write it, first reads of those that only read it)."""
    writers, readers = [], []
    for length, operations in transactions:
        accesses = [position for _, other, position in operations if other == key]
        writes = [position for kind, other, position in operations if other == key and kind == "w"]
        if writes:
            first, last = min(accesses), max(writes)
            writers.append((first - 1, last - first + 1, length - last))
        elif accesses:
            readers.append((accesses[0] - 1, 1, length - accesses[0]))
    return writers, readers


def distance(first: Sequence[Any], second: Sequence[Any]) -> int | None:
    """The least distance between the starts where `first` is placed before `second`; None when nothing conflicts."""
    distances = (
        before - after + 1
        for kind, key, before in first[1]
        for other_kind, other_key, after in second[1]
        if key == other_key and "w" in (kind, other_kind)
    )
    return max(distances, default=None)


def _of_chains(transactions: Sequence[Any]) -> int:
    """The bound of many keys: over sets that grow greedily from every transaction."""
    count = len(transactions)
    apart = [[distance(first, second) or 0 for second in transactions] for first in transactions]
    ordered = [{b for b in range(count) if b != a and min(apart[a][b], apart[b][a]) >= 1} for a in range(count)]
    best = 0
    for seed in range(count):
        chain, candidates = [seed], set(ordered[seed])
        while candidates:
            added = max(candidates, key=lambda b: (len(ordered[b] & candidates), -b))
            chain.append(added)
            candidates &= ordered[added]
            best = max(best, _of_chain(transactions, apart, chain))
    return best


def _of_chain(transactions: Sequence[Any], apart: Sequence[Sequence[int]], chain: Sequence[int]) -> int:
    steps = [min(apart[a][b] for a in chain if a != b) for b in chain]
    shortest: int = min(transactions[index][0] for index in chain)
    return sum(steps) - max(steps) + shortest


def verify(instance: Instance, *, limit_s: float) -> BoundCheck:
    """Whether the listed bound is at most the one that counting proves."""
    if instance.bound is None:
        return BoundCheck(instance=instance.index, holds=False, detail="there is no bound")
    proven = lower_bound(instance.data)
    holds = instance.bound <= proven
    detail = f"counting proves that no schedule takes fewer than {proven} slots; the bound listed is {instance.bound}"
    return BoundCheck(instance=instance.index, holds=holds, detail=detail)
