"""Paired measurements of two programs: their ratio, a sequential test, and the noise of equal programs. Pure.

Measurements come in blocks A B B A of the reference (A) and the candidate (B). A block holds two pairs, one in either
order, so that a drift of the machine over a block cancels. Each pair has a log ratio, above 0 where the candidate is
better; the score is the median ratio.

**The test.** Were the two programs equal, each log ratio would be as likely with the opposite sign. So the signs are
permuted: of all 2^n assignments of signs to n pairs, `chance` is the exact share with a sum of weights of the positive
pairs at least as large as measured, one-sided. A pair weighs the rank of its absolute value, at most n/4. With whole
ranks that is the test of Wilcoxon, "Individual comparisons by ranking methods", Biometrics Bulletin 1 (1945), 80-83;
with equal weights it is the test of signs. Measurements on a busy machine have outliers: the bound keeps them from
deciding.

**The looks.** There is a look after 12, 16, 24 and 32 pairs, and the first one that finds the candidate better ends the
measurement. All looks together may call an equal candidate better in one case out of 1000. Alpha spending divides that:
up to a share t of the pairs the looks spend

    alpha(t) = 0.001 * ln(1 + (e - 1) * t)

(Lan and DeMets, "Discrete sequential boundaries for clinical trials", Biometrika 70 (1983), 659-663; the Pocock-type
function). A look finds a candidate better if `chance` is at most the increase of alpha since the look before. By the
union bound the total holds whatever the distribution. With n pairs `chance` is at least 2^-n, so the first look must be
allowed at least 2^-12 = 0.00024. It may spend 0.00050, later looks 0.00012, 0.00021 and 0.00017. An O'Brien-Fleming
function would allow the first look less than 2^-12: it could never end there.

A look whose median is not above 1 ends the measurement too, without a finding: that makes no false positive likelier.

**The floor.** The ratio must also exceed the noise floor of the same measurements. Blocks A B B A, A B B A hold equal
programs next to each other: B B in a block, A A where two blocks meet. Their differences are the noise at that time,
which an earlier measurement would not know: other programs on the machine come and go. The floor only refuses, so it
makes no false positive likelier either.
"""

import math
import random
import statistics
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from typing import Final

LOOKS: Final = (12, 16, 24, 32)
"""The numbers of pairs after which the test is made."""
ORDINARY: Final = 4
"""The pairs of a candidate that is not about to become the best."""
FALSE_POSITIVES: Final = 0.001
"""How often, at most, a candidate that equals its reference is found better, all looks together."""
POWER: Final = 0.9
"""How often a difference as large as the noise floor is found within the last look."""
NOISE_RUNS: Final = 24
"""The fewest runs of unchanged code that give a noise floor."""
FEWEST: Final = 7
"""The fewest values that give an interval."""
_TAIL: Final = 0.01  # how often, at most, the median lies beyond one end of the interval
_SAMPLES: Final = 200
_STEPS: Final = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two measurements in a row, both above 0 and in the same unit."""

    reference: float
    candidate: float

    def log_ratio(self, *, larger_is_better: bool = False) -> float:
        """The natural logarithm of how many times better the candidate is."""
        ratio = math.log(self.reference / self.candidate)
        return -ratio if larger_is_better else ratio


def measured_pairs(reference: Callable[[], float], candidate: Callable[[], float]) -> Iterator[Pair]:
    """Endless pairs, measured when they are asked for, in blocks A B B A."""
    while True:
        first = reference()
        yield Pair(reference=first, candidate=candidate())
        second = candidate()
        yield Pair(reference=reference(), candidate=second)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """How many times better a candidate is than its reference: the median over `pairs`, and an interval of order
    statistics; the true median lies beyond either end with a probability of at most 1 %. It is None of fewer than
    `FEWEST` pairs."""

    times: float
    pairs: int
    interval: tuple[float, float] | None

    def describe(self) -> str:
        """The ratio in words: `1.12 times (between 1.09 and 1.15, 32 pairs)`."""
        within = "" if self.interval is None else f"between {self.interval[0]:.3f} and {self.interval[1]:.3f}, "
        return f"{self.times:.3f} times ({within}{self.pairs} pairs)"


def ratio_of(log_ratios: Sequence[float]) -> Ratio:
    """The ratio by the log ratios of at least one pair."""
    low_high = None
    if len(log_ratios) >= FEWEST:
        _, low, high = interval(log_ratios)
        low_high = math.exp(low), math.exp(high)
    return Ratio(times=math.exp(statistics.median(log_ratios)), pairs=len(log_ratios), interval=low_high)


def interval(sample: Sequence[float]) -> tuple[float, float, float]:
    """(median, low, high): the narrowest pair of order statistics such that the true median lies beyond either with a
    probability of at most 1 %. Raises ValueError for less than `FEWEST` values."""
    count = len(sample)
    if count < FEWEST:
        raise ValueError(f"{count} repetitions give no interval; at least {FEWEST} do")
    ordered = sorted(sample)
    cut, tail = 0, 1 / 2**count
    while (tail := tail + math.comb(count, cut + 1) / 2**count) <= _TAIL:
        cut += 1
    return statistics.median(ordered), ordered[cut], ordered[-1 - cut]


# -- is the candidate better? ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedFinding:
    """The end of a sequential test: whether the candidate is better, and the probability of a result like this by
    chance. `floor` is the noise floor that its ratio had to exceed; None where the chance was too large already."""

    is_better: bool
    ratio: Ratio
    chance: float
    floor: float | None

    def describe(self) -> str:
        """The finding in words."""
        if self.is_better:
            return f"better: {self.ratio.describe()}, by chance in one case out of {1 / self.chance:,.0f}"
        if self.floor is not None:
            return f"not better: {self.ratio.describe()}, within the noise floor of {100 * self.floor:.1f} %"
        return f"not found better: {self.ratio.describe()}"


def level(look: int) -> float:
    """The probability of a false positive that a look may spend."""
    before = max((earlier for earlier in LOOKS if earlier < look), default=0)
    return _spent(look) - _spent(before)


def _spent(pairs: int) -> float:
    return FALSE_POSITIVES * math.log(1 + (math.e - 1) * pairs / LOOKS[-1])


def chance(log_ratios: Sequence[float]) -> Fraction:
    """The share of all assignments of signs with a sum of weights at least as large: exact, one-sided."""
    weights = _doubled_weights(log_ratios)
    ways = _ways(tuple(sorted(weights)))
    measured = sum(weight for weight, value in zip(weights, log_ratios, strict=True) if value > 0)
    return Fraction(sum(ways[measured:]), 2 ** len(weights))


def decide(pairs: Sequence[Pair], *, larger_is_better: bool = False) -> PairedFinding | None:
    """What the look after these pairs, of whole blocks, concludes; None where another look follows."""
    log_ratios = [pair.log_ratio(larger_is_better=larger_is_better) for pair in pairs]
    ratio, probability = ratio_of(log_ratios), chance(log_ratios)
    is_unlikely = probability <= level(len(pairs)) and ratio.times > 1
    floor = floor_of(differences_of_equal(pairs)) if is_unlikely else None
    is_better = floor is not None and ratio.times > 1 + floor
    if not is_better and ratio.times > 1 and len(pairs) < LOOKS[-1]:
        return None
    return PairedFinding(is_better=is_better, ratio=ratio, chance=float(probability), floor=floor)


def look_by_look(pairs: Iterator[Pair], *, larger_is_better: bool = False) -> PairedFinding:
    """Take pairs until a look concludes."""
    taken: list[Pair] = []
    for look in LOOKS:
        while len(taken) < look:
            taken.append(next(pairs))
        finding = decide(taken, larger_is_better=larger_is_better)
        if finding is not None:
            return finding
    raise AssertionError("the last look concludes")


def most_weight(count: int) -> int:
    """The most that a pair weighs, by the number of pairs."""
    return max(1, count // 4)


def _doubled_weights(values: Sequence[float]) -> list[int]:
    """Twice the weight of each value, by the mean rank of equal ones; 0 of 0, whose sign changes nothing."""
    ordered, most = sorted(abs(value) for value in values), 2 * most_weight(len(values))
    weights = []
    for value in values:
        below = bisect_left(ordered, abs(value))
        weights.append(min(most, 2 * below + ordered.count(abs(value)) + 1) if value else 0)
    return weights


@lru_cache(maxsize=64)
def _ways(weights: tuple[int, ...]) -> tuple[int, ...]:
    """By sum: how many choices of the weights have it."""
    ways = [1]
    for weight in weights:
        longer = [*ways, *[0] * weight]
        ways = [count + (ways[total - weight] if total >= weight else 0) for total, count in enumerate(longer)]
    return tuple(ways)


# -- the noise ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """The noise of unchanged code: the median of its runs, their spread (half of the middle half's width, relative to
    the median), and `floor`: the smallest relative difference that is found with 90 % power within 32 pairs."""

    median: float
    spread: float
    floor: float
    runs: int

    def sentence(self) -> str:
        """What that means for a person."""
        return f"differences below {100 * self.floor:.1f} % cannot be distinguished from noise here"


def noise_of(runs: Sequence[float]) -> Noise:
    """The noise of runs of unchanged code, in the order of their measurement, all above 0. Raises ValueError for less
    than `NOISE_RUNS`."""
    if len(runs) < NOISE_RUNS:
        raise ValueError(f"{len(runs)} runs give no noise floor; at least {NOISE_RUNS} do")
    middle = statistics.median(runs)
    low, _, high = statistics.quantiles(runs, n=4)
    differences = [math.log(first / second) for first, second in zip(runs[::2], runs[1::2], strict=False)]
    return Noise(median=middle, spread=(high - low) / 2 / middle, floor=floor_of(differences), runs=len(runs))


def differences_of_equal(pairs: Sequence[Pair]) -> list[float]:
    """The log ratios of equal programs that ran one after the other, in whole blocks A B B A."""
    inside = zip(pairs[::2], pairs[1::2], strict=True)
    between = zip(pairs[1::2], pairs[2::2], strict=False)
    return [
        *(math.log(first.candidate / second.candidate) for first, second in inside),
        *(math.log(first.reference / second.reference) for first, second in between),
    ]


def floor_of(differences: Sequence[float]) -> float:
    """The noise floor by log ratios of equal programs: the smallest relative gain that the looks find with 90 % power.

    By resampling, with a fixed seed: 200 samples of 32 pairs are drawn from the differences with either sign. The floor
    is the smallest gain, added to every pair, with which some look calls 90 % of the samples better.
    """
    generator = random.Random(0)
    both = [sign * value for value in differences for sign in (1, -1)]
    open_samples = [generator.choices(both, k=LOOKS[-1]) for _ in range(_SAMPLES)]  # found between `low` and `high`
    wanted = math.ceil(POWER * _SAMPLES)
    low, high = 0.0, 2 * max(both)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        found = [_is_found([value + middle for value in sample]) for sample in open_samples]
        is_enough = sum(found) >= wanted
        if is_enough:
            high = middle
        else:
            low, wanted = middle, wanted - sum(found)
        open_samples = [sample for sample, is_found in zip(open_samples, found, strict=True) if is_found is is_enough]
    return math.expm1(high)


def _is_found(log_ratios: Sequence[float]) -> bool:
    for look in LOOKS:
        seen = log_ratios[:look]
        order = sorted(range(look), key=lambda place: abs(seen[place]))
        most = most_weight(look)
        if sum(min(rank, most) for rank, place in enumerate(order, 1) if seen[place] > 0) >= _least_sum(look):
            return True
    return False


@cache
def _least_sum(look: int) -> int:
    """The smallest sum of weights that a look calls better, where no two values are equal."""
    weights = tuple(min(rank, most_weight(look)) for rank in range(1, look + 1))
    ways, allowed = _ways(weights), Fraction(level(look)) * 2**look
    total, least = 0, len(ways)
    while total + ways[least - 1] <= allowed:
        least -= 1
        total += ways[least]
    return least
