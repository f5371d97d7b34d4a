"""Who is best on each instance: programs that know something which the best on the whole may not."""

from collections.abc import Iterator
from dataclasses import dataclass

from evolve.archive.ranking import compared_costs, rank_key
from evolve.archive.records import ProgramRecord


@dataclass(frozen=True, slots=True)
class Champion:
    """The best correct program on one instance, with its exact cost there."""

    record: ProgramRecord
    cost: str


class Champions:
    """One program per instance: the best there, of equals the one that ranks first. Nothing else is kept."""

    def __init__(self) -> None:
        self._best: list[Champion] = []

    def take_up(self, record: ProgramRecord) -> None:
        """Take up a correct program."""
        sign, key = record.objective.per_instance.sign, rank_key(record)
        for instance, cost in enumerate(record.costs.split()):
            if instance == len(self._best):
                self._best.append(Champion(record, cost))
                continue
            holder = self._best[instance]
            step = sign * compared_costs(cost, holder.cost)
            if step > 0 or (step == 0 and key < rank_key(holder.record)):
                self._best[instance] = Champion(record, cost)

    def __len__(self) -> int:
        return len(self._best)

    def __iter__(self) -> Iterator[Champion]:
        return iter(self._best)

    def __getitem__(self, instance: int) -> Champion:
        return self._best[instance]
