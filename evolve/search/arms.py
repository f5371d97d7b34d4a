"""Which model writes the next patch: drawn by weight, or (`search.models: bandit`) by what each yielded for its cost.

A proposal's reward is the rank of its improvement among the latest improvements of the run: from 0 (nothing better came
of it, for whatever reason) to nearly 1 (better than all of them). Ranks, since the steps of a run grow smaller as it
goes on, and nobody knows their scale. The index of a model is an upper confidence bound of its reward per cost:

    mean reward / cost + (upper bound of the mean reward - mean reward) / max(cost, mean cost of all models)

The bound is that of KL-UCB (Garivier and Cappe, COLT 2011), which is narrow where rewards are rare. A model that is
cheaper than the mean earns its price by what it yields, not by what is unknown of it: else one that only fails would be
asked again and again for being cheap.

All of it follows from the generations that have ended, in their order. One that was begun and has not ended counts as
a proposal with the mean reward, of the model that would be chosen for it now.
"""

import math
import random
from bisect import bisect_left, bisect_right, insort
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass

from evolve.archive.events import CostUnit, ModelChoice, PickedBy
from evolve.archive.records import EndedGeneration, ProgramRecord
from evolve.proposal import SearchSettings
from evolve.search.select import choose_model

RANKED = 50
"""Among how many of the latest improvements one is ranked."""
EXPLORATION = 0.5
"""What the logarithm of the number of proposals is multiplied by in the bound. 1 is what theory needs for rewards of 0
and 1; ranks vary less."""
LEAST_COST = 0.05
"""No model counts as cheaper than this share of the mean cost, one without a price included: a proposal also takes
time, and one that costs nothing would be the best whatever it yields."""
TRIALS = 10
"""The most proposals that a cheap model gets before it is compared: as many as one proposal of mean cost pays for,
and one of any model."""
MOST_PENDING = 1024
"""Of how many generations under way, the latest, it is taken into account that they are."""
_HALVINGS = 30


@dataclass(slots=True)
class _Arm:
    """What is on record of one model: how many proposals, the sum of their rewards, and what they took."""

    proposals: int = 0
    reward: float = 0.0
    usd: float = 0.0
    unpriced: int = 0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class _Costs:
    """What a proposal of each model costs in one unit, which is the same for all."""

    unit: CostUnit
    known: Mapping[str, float]

    @property
    def mean(self) -> float:
        """Of all models of which it is known and which cost anything."""
        paid = [cost for cost in self.known.values() if cost > 0]
        return math.fsum(paid) / len(paid) if paid else 1.0

    def of(self, name: str) -> float:
        """Of one model, no less than LEAST_COST of the mean; the mean where it is not known."""
        return max(self.known.get(name, self.mean), LEAST_COST * self.mean)


class Arms:
    """Chooses models for one run."""

    def __init__(self, settings: SearchSettings) -> None:
        self._settings = settings
        self._asked = [name for name, share in settings.shares.items() if share > 0]
        self._arms: dict[str, _Arm] = {}
        self._latest: deque[float] = deque(maxlen=RANKED)  # improvements
        self._ordered: list[float] = []  # the same
        self._rewarded: dict[str, tuple[_Arm, float]] = {}  # by the commit of a program, whose reward it is
        self._ended: set[int] = set()  # generations, without those below
        self._all_before = 0  # every generation below has ended

    def choose(self, generation: int, rng: random.Random) -> tuple[str, ModelChoice | None]:
        """The model that is asked in a generation, and why, where it is not drawn by weight (with `rng`)."""
        if not self._settings.by_bandit:
            return choose_model(self._settings.shares, rng=rng), None
        costs = self._costs()
        under_way = [n for n in range(self._all_before, generation) if n not in self._ended][-MOST_PENDING:]
        total = sum(self._arm(name).proposals for name in self._asked) + len(under_way)
        bound = EXPLORATION * math.log(max(2, total))
        pending: Counter[str] = Counter()
        indices = {name: self._index(name, costs, pending, bound) for name in self._asked}
        for number in under_way:
            name, _ = self._next(number, costs, pending, indices)
            pending[name] += 1
            indices[name] = self._index(name, costs, pending, bound)
        name, by = self._next(generation, costs, pending, indices)
        arm = self._arm(name)
        if not arm.proposals:
            return name, ModelChoice(by=by, proposals=0)
        reward = arm.reward / arm.proposals
        return name, ModelChoice(by=by, proposals=arm.proposals, reward=reward, cost=costs.known[name], unit=costs.unit)

    def ended(self, ended: EndedGeneration) -> None:
        """Take up a generation that ended."""
        self._ended.add(ended.generation)
        while self._all_before in self._ended:
            self._ended.remove(self._all_before)
            self._all_before += 1
        reward = 0.0 if ended.improvement is None else self._rank(ended.improvement)
        if ended.arm is None:
            return
        arm = self._arms.setdefault(ended.arm, _Arm())
        arm.proposals += 1
        arm.reward += reward
        if reward and ended.program is not None:
            self._rewarded[ended.program.commit] = arm, reward
        for model in ended.models:  # what mends its answers is a part of its price
            arm.usd += model.fair.known_usd
            arm.unpriced += model.fair.unpriced
            arm.tokens += model.fair.tokens

    def confirmed(self, record: ProgramRecord) -> None:
        """A program was confirmed, or withdrawn: then nothing better came of its proposal."""
        if not record.correct and record.commit in self._rewarded:
            arm, reward = self._rewarded.pop(record.commit)
            arm.reward -= reward

    def _rank(self, improvement: float) -> float:
        """The share of the latest improvements that one is larger than, itself and equals counted half."""
        if len(self._latest) == RANKED:
            del self._ordered[bisect_left(self._ordered, self._latest[0])]
        self._latest.append(improvement)
        insort(self._ordered, improvement)
        below, up_to = bisect_left(self._ordered, improvement), bisect_right(self._ordered, improvement)
        return (below + up_to) / 2 / len(self._ordered)

    def _arm(self, name: str) -> _Arm:
        return self._arms.get(name, _NOTHING)

    def _costs(self) -> _Costs:
        """In dollars where all prices are known and anything was paid; else in tokens; else every proposal costs 1."""
        tried = {name: arm for name in self._asked if (arm := self._arm(name)).proposals}
        if not any(arm.unpriced for arm in tried.values()) and any(arm.usd for arm in tried.values()):
            return _Costs("usd", {name: arm.usd / arm.proposals for name, arm in tried.items()})
        if any(arm.tokens for arm in tried.values()):
            return _Costs("tokens", {name: arm.tokens / arm.proposals for name, arm in tried.items()})
        return _Costs("proposals", dict.fromkeys(tried, 1.0))

    def _next(
        self, generation: int, costs: _Costs, pending: Mapping[str, int], indices: Mapping[str, float]
    ) -> tuple[str, PickedBy]:
        """The model for a generation, of equals one drawn by seed and generation; and what chose it."""
        rng = random.Random(f"{self._settings.seed}:{generation}:model")
        names = rng.sample(self._asked, len(self._asked))
        counts = {name: self._arm(name).proposals + pending.get(name, 0) for name in names}
        untried = [name for name in names if counts[name] < min(TRIALS, max(1.0, costs.mean / costs.of(name)))]
        if untried:
            return min(untried, key=lambda name: counts[name]), "trial"
        return max(names, key=lambda name: indices[name]), "bandit"

    def _index(self, name: str, costs: _Costs, pending: Mapping[str, int], bound: float) -> float:
        """How much a model may yield per cost. Of one of which nothing has ended yet the mean of all is expected."""
        arm, cost = self._arm(name), costs.of(name)
        of = [arm] if arm.proposals else [self._arm(other) for other in self._asked]
        proposals = sum(each.proposals for each in of)
        mean = min(1.0, math.fsum(each.reward for each in of) / proposals) if proposals else 0.0
        spread = upper_bound(mean, arm.proposals + pending.get(name, 0), bound) - mean
        return mean / cost + spread / max(cost, costs.mean)


_NOTHING = _Arm()


def upper_bound(mean: float, count: int, bound: float) -> float:
    """The highest expectation that a mean of `count` values within 0 and 1 does not speak against: their relative
    entropy (as of two coins) times the count is no more than `bound`."""
    if count == 0:
        return 1.0
    low, high = mean, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if count * relative_entropy(mean, middle) > bound:
            high = middle
        else:
            low = middle
    return low


def relative_entropy(p: float, q: float) -> float:
    """Of a coin that shows heads with probability `p` to one with `q`, in nats."""
    if not 0 < q < 1:
        return 0.0 if p == q else math.inf
    heads = p * math.log(p / q) if p > 0 else 0.0
    tails = (1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0.0
    return max(0.0, heads + tails)
