"""The optimiser behind tuning: which values to try next, given the results so far. Pure, and repeatable by seed.

Made for what tuning is: up to some twenty numbers that were chosen with some sense, a score without noise and without a
slope that could be known, a hundred evaluations, several of them at a time. It polls one number at a time with a step
of its own, puts together what helped, goes on in the direction that helped, and now and then moves several numbers at
once. Steps are factors. Why it is not a library's: docs/tuning.md has the comparison.
"""

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

BATCH = 6
"""Points that are asked for at a time, whatever the number of workers: what is found must not depend on that."""

Point = tuple[int | float, ...]
Rank = tuple[bool, float]
"""Whether a program is correct, and its score: compared in this order, higher is better."""

_FIRST_STEP = math.log(1.6)
_LEAST_STEP = 1e-5
_DIGITS = 6  # of a float, so that what is found can be read
_REDRAWN = 40  # so often a random point is drawn that was asked before
_POLLED = 4  # of a batch; the rest are moves of several numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Dimension:
    """One number: where it stands, and the least and the greatest that it may be. An integer stays one; numbers of one
    sign are moved by factors, others by sums."""

    value: int | float
    low: int | float
    high: int | float

    @property
    def integer(self) -> bool:
        """Whether only whole numbers will do."""
        return isinstance(self.value, int)

    def moved(self, value: int | float, step: float) -> int | float:
        """A value moved by a `step`, up for a positive step; at least by one where it is an integer, and within
        the bounds."""
        if self.low > 0:
            new = value * math.exp(max(-50.0, min(50.0, step)))
        else:
            new = value + step * self._unit
        new = min(max(new, self.low), self.high)
        if not self.integer:
            return min(max(float(f"{new:.{_DIGITS}g}"), float(self.low)), float(self.high))
        whole = round(new)
        if whole == value and step:
            whole += 1 if step > 0 else -1
        return int(min(max(whole, self.low), self.high))

    def steps(self, old: int | float, new: int | float) -> float:
        """How many steps lead from one value to another, for `moved`."""
        return math.log(new / old) if self.low > 0 else (new - old) / self._unit

    @property
    def _unit(self) -> float:
        """The length of a step where numbers are moved by sums."""
        return max(abs(self.low), abs(self.high)) / 4


@dataclass(slots=True)
class _Axis:
    """What is known of one number: its step, the direction that helped last, and what was polled from here."""

    step: float = _FIRST_STEP
    direction: int = 1
    polled: set[int] = field(default_factory=set)
    dropped: bool = False


class PatternSearch:
    """Looks for a better point by asking for results, within the bounds of its dimensions.

    `ask` never gives a point that was given before, nor the start; it gives none when there is nothing left to try.
    """

    def __init__(self, dimensions: Sequence[Dimension], *, start: Rank, seed: str | int) -> None:
        """Begin at the dimensions' values, whose `start` is known."""
        self._dimensions = tuple(dimensions)
        self._random = random.Random(f"{seed}:tune")
        self._axes = [_Axis() for _ in self._dimensions]
        self.best: Point = tuple(dimension.value for dimension in self._dimensions)
        self.standing = start
        self._start, self._origin = start, self.best
        self._asked: set[Point] = {self.best}
        self._waiting: list[Point] = []  # points to be asked before any other
        self._screened: dict[tuple[int, int], Rank] = {}
        self._polls: dict[Point, tuple[int, int]] = {}
        self._screen(+1)
        self._screening = 1

    @property
    def dropped(self) -> tuple[int, ...]:
        """The dimensions that change nothing, up or down."""
        return tuple(index for index, axis in enumerate(self._axes) if axis.dropped)

    def ask(self) -> list[Point]:
        """Points to be scored next, BATCH at most."""
        if self._screening and not self._waiting:
            self._screened_on()
        if self._screening:
            return self._take(BATCH)
        batch = self._take(BATCH)
        batch += self._some(self._polling(), min(_POLLED, BATCH - len(batch)))
        batch += self._some(self._leaps(), BATCH - len(batch))
        return batch + self._some(self._polling(), BATCH - len(batch))

    def tell(self, scored: Sequence[tuple[Point, Rank]]) -> None:
        """The results of the points of a batch."""
        before, gains = self.best, list[tuple[Rank, Point]]()
        for point, standing in scored:
            poll = self._polls.pop(point, None)
            if self._screening and poll is not None:
                self._screened[poll] = standing
            if standing > self.standing:
                gains.append((standing, point))
        gains.sort(key=lambda gain: gain[0], reverse=True)
        if gains:
            self.standing, self.best = gains[0]
        if self._screening:
            return  # each number is moved from the start, so that what helped can be put together
        if not gains:
            self._narrow()
            return
        self._widen(before, self.best)
        self._waiting = [self._sum(before, [point for _, point in gains[:3]])] if len(gains) > 1 else []
        self._waiting += [self._along(before, self.best, 1.0), self._along(before, self.best, -0.5)]

    # -- screening ----------------------------------------------------------------------------------------------

    def _screen(self, sign: int) -> None:
        """Have every number moved in one direction that did not help in the other."""
        for index, axis in enumerate(self._axes):
            if self._screened.get((index, -sign), self._start) > self._start:
                continue
            point = self._poll(self._origin, index, sign * axis.step)
            if point not in self._asked:
                self._polls[point] = (index, sign)
                self._waiting.append(point)

    def _screened_on(self) -> None:
        """The next round of screening, or its end: numbers that change nothing are dropped, what helped is put
        together."""
        if self._screening == 1:
            self._screening = 2
            self._screen(-1)
            if self._waiting:
                return
        self._screening = 0
        gains: list[tuple[Rank, int, int]] = []
        for index, axis in enumerate(self._axes):
            ranks = {sign: self._screened[index, sign] for sign in (1, -1) if (index, sign) in self._screened}
            axis.dropped = all(standing == self._start for standing in ranks.values())
            for sign, standing in ranks.items():
                if standing > self._start:
                    axis.direction = sign
                    gains.append((standing, index, sign))
        if not gains:
            for axis in self._axes:
                axis.step /= 2
            return
        gains.sort(reverse=True)
        points = [self._poll(self._origin, index, sign * self._axes[index].step) for _, index, sign in gains]
        sums = [self._sum(self._origin, points[:count]) for count in (len(points), (len(points) + 1) // 2, 2)]
        self._waiting = [*dict.fromkeys(sums), self._along(self._origin, self.best, 1.0)]

    # -- points -------------------------------------------------------------------------------------------------

    def _poll(self, origin: Point, index: int, step: float) -> Point:
        return (*origin[:index], self._dimensions[index].moved(origin[index], step), *origin[index + 1 :])

    def _along(self, start: Point, end: Point, share: float) -> Point:
        """Further in the direction that led from one point to another; back, for a negative share."""
        triples = zip(self._dimensions, start, end, strict=True)
        return tuple(new if old == new else of.moved(new, share * of.steps(old, new)) for of, old, new in triples)

    def _sum(self, start: Point, points: Sequence[Point]) -> Point:
        """The changes of several points at once; of two for one number the better one's, which stands first."""
        summed = list(start)
        for point in reversed(points):
            for index, (old, new) in enumerate(zip(start, point, strict=True)):
                if old != new:
                    summed[index] = new
        return tuple(summed)

    def _polling(self) -> Iterator[Point]:
        """One number after the other, the widest steps first, in the direction that helped last before the other."""
        free = [index for index, axis in enumerate(self._axes) if not axis.dropped]
        order = sorted(free, key=lambda index: (-self._axes[index].step, self._random.random()))
        for turn in (1, -1):
            for index in order:
                axis = self._axes[index]
                sign = turn * axis.direction
                if axis.step < _LEAST_STEP or sign in axis.polled:
                    continue
                axis.polled.add(sign)
                point = self._poll(self.best, index, sign * axis.step)
                self._polls[point] = (index, sign)
                yield point

    def _leaps(self) -> Iterator[Point]:
        """Several numbers at once, by chance: mostly about as far as their steps, now and then much further."""
        free = [index for index, axis in enumerate(self._axes) if not axis.dropped]
        if not free:
            return
        for _ in range(_REDRAWN):
            chosen = [index for index in free if self._random.random() < max(0.3, 2 / len(free))]
            reach = 4.0 if self._random.random() < 0.2 else 1.0
            point = self.best
            for index in chosen or [self._random.choice(free)]:
                step = max(self._axes[index].step, 100 * _LEAST_STEP) * reach * self._random.gauss(0.0, 1.0)
                point = self._poll(point, index, step)
            yield point

    def _take(self, count: int) -> list[Point]:
        taken, self._waiting = self._waiting, []
        points = self._some(iter(taken), count)
        self._waiting = [point for point in taken if point not in self._asked]
        return points

    def _some(self, points: Iterator[Point], count: int) -> list[Point]:
        """At most `count` new points; they count as asked from now on."""
        new: list[Point] = []
        while len(new) < count and (point := next(points, None)) is not None:
            if point not in self._asked:
                self._asked.add(point)
                new.append(point)
        return new

    # -- steps --------------------------------------------------------------------------------------------------

    def _widen(self, before: Point, now: Point) -> None:
        """A longer step for the numbers that moved, in the direction in which they did; all may be polled again."""
        for axis, old, new in zip(self._axes, before, now, strict=True):
            axis.polled.clear()
            if old != new:
                axis.step = min(axis.step * 1.4, 2 * _FIRST_STEP)
                axis.direction = 1 if new > old else -1

    def _narrow(self) -> None:
        """A shorter step for numbers that helped in neither direction."""
        for axis in self._axes:
            if len(axis.polled) == 2 and axis.step >= _LEAST_STEP:
                axis.step /= 2
                axis.polled.clear()
