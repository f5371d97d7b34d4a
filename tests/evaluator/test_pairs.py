"""Paired measurements: the test is exact, calls no equal candidate better, and finds what exceeds the noise."""

import itertools
import json
import math
import random
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.pairs import (
    FALSE_POSITIVES,
    LOOKS,
    NOISE_RUNS,
    ORDINARY,
    Pair,
    chance,
    decide,
    differences_of_equal,
    floor_of,
    level,
    look_by_look,
    measured_pairs,
    most_weight,
    noise_of,
    ratio_of,
)
from tests.examples import part_of_the_examples

RECORDED = json.loads((Path(__file__).parent.parent / "data" / "busy_runs.json").read_text())
"""CPU microseconds of 900 runs of one benchmark in a row (`python bench.py` of `tests.benchmarks.pairs`), on two cores
with about 15 other processes that computed."""

small = st.lists(st.integers(-6, 6).map(float), min_size=1, max_size=8)
log_ratios = st.lists(st.floats(-1, 1), min_size=12, max_size=12)


def simulated(generator: random.Random, gain: float, spread: float) -> Iterator[Pair]:
    """Pairs of runs whose times vary by `spread`."""
    while True:
        logs = generator.gauss(0, spread), generator.gauss(0, spread)
        yield Pair(reference=math.exp(logs[0]), candidate=math.exp(logs[1] - gain))


def recorded(start: int, gain: float) -> Iterator[Pair]:
    """Pairs of the recorded runs, from one of them on, as if the candidate were `gain` times as fast."""
    runs = iter(RECORDED[start:])
    return measured_pairs(lambda: next(runs), lambda: next(runs) / gain)


def called_better(pairs: Iterator[Pair]) -> bool:
    """What a search says: it compares what scores above 1 in a few pairs."""
    ordinary = [pair.log_ratio() for pair in itertools.islice(pairs, ORDINARY)]
    return ratio_of(ordinary).times > 1 and look_by_look(pairs).is_better


def constant(log_ratio: float) -> Iterator[Pair]:
    return itertools.repeat(Pair(reference=math.exp(log_ratio), candidate=1.0))


@given(small)
def test_the_chance_is_the_share_of_all_assignments_of_signs(values: list[float]) -> None:
    magnitudes = sorted(abs(value) for value in values)

    def weight(value: float) -> Fraction:
        places = [place for place, size in enumerate(magnitudes, 1) if size == abs(value)]
        return min(Fraction(sum(places), len(places)), Fraction(most_weight(len(values)))) if value else Fraction()

    weights = [weight(value) for value in values]
    measured = sum(each for each, value in zip(weights, values, strict=True) if value > 0)
    sums = [sum(itertools.compress(weights, signs)) for signs in itertools.product((0, 1), repeat=len(values))]
    assert chance(values) == Fraction(sum(total >= measured for total in sums), len(sums))


@given(log_ratios, st.floats(0, 0.5))
def test_a_larger_gain_is_never_less_certain(values: list[float], gain: float) -> None:
    assert chance([value + gain for value in values]) <= chance(values)


@given(log_ratios)
def test_the_larger_the_better_is_the_same_test_turned_around(values: list[float]) -> None:
    pairs = measured_pairs(iter([math.exp(value) for value in values]).__next__, lambda: 1.0)
    for pair in itertools.islice(pairs, len(values)):
        assert pair.log_ratio() == -pair.log_ratio(larger_is_better=True)


def test_the_looks_spend_no_more_than_the_whole_and_each_can_end_the_measurement() -> None:
    assert sum(map(level, LOOKS)) == pytest.approx(FALSE_POSITIVES)
    for look in LOOKS:
        finding = decide([*itertools.islice(constant(0.1), look)])
        assert finding is not None
        assert finding.is_better
        assert finding.chance == 2.0**-look <= level(look)


def test_blocks_alternate() -> None:
    order: list[str] = []

    def measure(name: str) -> float:
        order.append(name)
        return float(len(order))

    pairs = list(itertools.islice(measured_pairs(lambda: measure("A"), lambda: measure("B")), 4))
    assert "".join(order) == "ABBAABBA"
    assert [(pair.reference, pair.candidate) for pair in pairs] == [(1, 2), (4, 3), (5, 6), (8, 7)]


def test_equal_candidates_are_not_called_better() -> None:
    generator = random.Random(34)
    found = [look_by_look(simulated(generator, 0.0, 0.04)).is_better for _ in range(2000)]
    assert sum(found[:200]) <= 2
    assert sum(found) <= 8  # 2 are expected; more than 8 of 2,000 come once in 4,000 at the stated rate


def test_a_candidate_that_is_ten_per_cent_faster_is_found() -> None:
    generator = random.Random(34)
    found = [look_by_look(simulated(generator, math.log(1.1), 0.04)) for _ in range(20)]
    assert sum(finding.is_better for finding in found) >= 19
    assert all(finding.ratio.interval is not None for finding in found)


@pytest.mark.parametrize(("gain", "programs", "least", "most"), [(1.0, 200, 0, 2), (1.1, 20, 19, 20)])
def test_recorded_runs_of_a_busy_machine_tell_programs_apart(gain: float, programs: int, least: int, most: int) -> None:
    last = len(RECORDED) - 2 * (ORDINARY + LOOKS[-1])
    starts = [last * number // (programs - 1) for number in range(programs)]
    assert least <= sum(called_better(recorded(start, gain)) for start in starts) <= most


def test_the_floor_is_found_with_the_stated_power() -> None:
    generator = random.Random(34)
    floor = floor_of([pair.log_ratio() for pair in itertools.islice(simulated(generator, 0.0, 0.04), 400)])
    found = 0
    for _ in range(400):
        logs = [each.log_ratio() for each in itertools.islice(simulated(generator, math.log1p(floor), 0.04), LOOKS[-1])]
        found += any(chance(logs[:look]) <= level(look) for look in LOOKS)
    assert 0.84 <= found / 400 <= 0.96


def test_a_few_outliers_do_not_raise_the_floor() -> None:
    generator = random.Random(34)
    quiet = [generator.gauss(0, 0.02) for _ in range(24)]
    disturbed = [*quiet[:22], 0.5, -0.5]
    assert floor_of(disturbed) < 2 * floor_of(quiet)


@part_of_the_examples(5)
@given(st.lists(st.floats(0.9, 1.1), min_size=NOISE_RUNS, max_size=NOISE_RUNS), st.floats(0.01, 100))
def test_the_noise_does_not_depend_on_the_unit(runs: list[float], unit: float) -> None:
    noise, other = noise_of(runs), noise_of([run * unit for run in runs])
    assert other.floor == pytest.approx(noise.floor, abs=1e-9)
    assert other.spread == pytest.approx(noise.spread, abs=1e-9)
    assert other.median == pytest.approx(noise.median * unit)


def test_without_noise_every_difference_counts() -> None:
    noise = noise_of([3.0] * NOISE_RUNS)
    assert noise.floor == 0
    assert noise.sentence() == "differences below 0.0 % cannot be distinguished from noise here"


def test_a_gain_within_the_noise_floor_is_no_gain() -> None:
    """The candidate is 1 % faster in each pair, but a program differs from itself by 6 % from run to run."""
    times = {"A": itertools.cycle([1.02, 1.08]), "B": itertools.cycle([1.01, 1.07])}
    finding = look_by_look(measured_pairs(times["A"].__next__, times["B"].__next__))
    assert not finding.is_better
    assert finding.chance < level(LOOKS[-1])
    assert finding.ratio.pairs == LOOKS[-1]
    assert "within the noise floor of" in finding.describe()


def test_the_floor_is_by_equal_programs_next_to_each_other() -> None:
    runs = iter([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0])
    pairs = [*itertools.islice(measured_pairs(runs.__next__, runs.__next__), 4)]
    assert differences_of_equal(pairs) == [math.log(0.5)] * 3


def test_what_is_no_better_ends_at_the_first_look() -> None:
    assert look_by_look(constant(-0.1)).ratio.pairs == LOOKS[0]


def test_too_few_runs_give_no_floor() -> None:
    with pytest.raises(ValueError, match="at least 24"):
        noise_of([1.0] * 23)


def test_a_few_pairs_have_no_interval() -> None:
    assert ratio_of([0.0] * 4).interval is None
    assert ratio_of([0.0] * 12).interval == (1.0, 1.0)
