"""Bin packing decided exactly, in integers: do the items fit into the bins, and how?

Four steps, each sound by itself, the cheap ones first:
1. counting: a bound that refutes most impossible cases at once;
2. prices: an integer price per item and the most that one bin can be worth. When all items together are worth more than
   all bins can be, nothing fits. The prices come from a linear program (column generation); any prices would be sound;
3. contents: otherwise every bin of a packing must be worth nearly the most; those contents are enumerated, and a
   constraint solver chooses among them;
4. where there are too many, the solver assigns items to bins directly.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

from evaluator.errors import SandboxError
from evaluator.waiting import threads

Bins = list[list[int]]
"""The indexes of the items in each bin."""

_PRICE_OF_A_BIN = 10**7  # prices are rounded down to integers of this scale
_ITEMS_PRICED = 120  # with more items, pricing costs more than it tells
_CONTENTS_LISTED = 60_000
_SOLVER_HOLDS = 2**62  # the solver's numbers have 64 bits
_ROUNDED_TO = 2**50
_SEARCHERS = 2  # threads of the solver
_LOOKED_AT_THE_CLOCK = 4096  # steps of a search between two looks


class _TimeIsUp(Exception):
    """A search by branch and bound was not done in its time."""


class _Clock:
    """Ends a search by branch and bound; a limit of None never does."""

    def __init__(self, limit_s: float | None) -> None:
        self._until = None if limit_s is None else time.monotonic() + limit_s
        self._steps = 0

    def step(self) -> None:
        """Count a step. Raises _TimeIsUp."""
        self._steps += 1
        if self._until is not None and not self._steps % _LOOKED_AT_THE_CLOCK and time.monotonic() > self._until:
            raise _TimeIsUp


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """`bins` when a packing was found; else `impossible` says whether that is proven or the time was up."""

    bins: Bins | None = None
    impossible: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """A price per item, and the most that the items of any one bin are worth together."""

    of_items: tuple[int, ...]
    of_a_bin: int


def decide(weights: Sequence[int], capacity: int, bins: int, *, limit_s: float) -> Decision:
    """Whether items of these weights fit into `bins` bins. Raises SandboxError when OR-Tools is not installed."""
    began = time.monotonic()
    solver_module()
    prices = _refuting_prices(weights, capacity, bins, limit_s / 2)
    if prices is True:
        return Decision(impossible=True)
    contents = None
    if prices is not None:
        spare = bins * prices.of_a_bin - sum(prices.of_items)
        least, left_s = prices.of_a_bin - spare, (limit_s - (time.monotonic() - began)) / 2
        contents = worth_at_least(weights, capacity, prices, least, most=_CONTENTS_LISTED, limit_s=left_s)
    left_s = max(0.1, limit_s - (time.monotonic() - began))
    if contents is None:
        return _assign_rounded(weights, capacity, bins, left_s)
    return _choose(contents, len(weights), bins, left_s)


def refuted(weights: Sequence[int], capacity: int, bins: int, *, limit_s: float) -> bool:
    """Whether counting or prices prove that the items do not fit; False proves nothing."""
    return _refuting_prices(weights, capacity, bins, limit_s) is True


def first_fit(weights: Sequence[int], capacity: int, bins: int) -> Bins | None:
    """A packing by decreasing first fit, or None where first fit finds none."""
    room = [capacity] * bins
    packed: Bins = [[] for _ in range(bins)]
    for item in sorted(range(len(weights)), key=lambda item: (-weights[item], item)):
        place = next((place for place, left in enumerate(room) if weights[item] <= left), None)
        if place is None:
            return None
        room[place] -= weights[item]
        packed[place].append(item)
    return packed


def overflows(weights: Sequence[int], capacity: int, bins: int) -> bool:
    """Whether the items cannot fit by counting alone (the bound L2 of Martello and Toth)."""
    if max(weights) > capacity:
        return True
    for small in [0, *sorted({weight for weight in weights if 2 * weight <= capacity})]:
        # Items above capacity - small share a bin with no item of at least `small`; items above half the
        # capacity are alone among themselves, and what they leave free may be filled by the smaller ones.
        alone = sum(1 for weight in weights if weight > capacity - small)
        large = [weight for weight in weights if capacity < 2 * weight and weight <= capacity - small]
        rest = sum(weight for weight in weights if small <= weight and 2 * weight <= capacity)
        overflow = rest - (len(large) * capacity - sum(large))
        if alone + len(large) + max(0, -(-overflow // capacity)) > bins:
            return True
    return False


def _refuting_prices(
    weights: Sequence[int], capacity: int, bins: int, limit_s: float
) -> "Prices | Literal[True] | None":
    """True when the items are proven not to fit; else the prices (None: too many items to price, or too hard ones)."""
    if overflows(weights, capacity, bins):
        return True
    if len(weights) > _ITEMS_PRICED:
        return None
    prices = find_prices(weights, capacity, limit_s=limit_s)
    return True if prices is not None and sum(prices.of_items) > bins * prices.of_a_bin else prices


def find_prices(weights: Sequence[int], capacity: int, *, limit_s: float) -> Prices | None:
    """The best prices that column generation finds in the time: the dual of covering the items with contents. None
    where the time was up before what one bin can be worth was known for any."""
    from ortools.linear_solver import pywraplp

    began = time.monotonic()
    program = pywraplp.Solver.CreateSolver("GLOP")
    infinity = program.infinity()
    rows = [program.Constraint(1.0, infinity) for _ in weights]
    program.Objective().SetMinimization()

    def add(content: Sequence[int]) -> None:
        column = program.NumVar(0.0, infinity, "")
        program.Objective().SetCoefficient(column, 1.0)
        for item in content:
            rows[item].SetCoefficient(column, 1.0)

    for content in first_fit(weights, capacity, len(weights)) or []:
        if content:
            add(content)
    best: Prices | None = None
    while True:
        program.Solve()
        of_items = tuple(max(0, int(row.dual_value() * _PRICE_OF_A_BIN)) for row in rows)
        left_s = limit_s - (time.monotonic() - began)
        try:
            content = most_valuable(weights, capacity, of_items, limit_s=left_s)
        except _TimeIsUp:
            return best
        prices = Prices(of_items=of_items, of_a_bin=max(1, sum(of_items[item] for item in content)))
        if best is None or sum(of_items) * best.of_a_bin > sum(best.of_items) * prices.of_a_bin:
            best = prices
        if prices.of_a_bin <= _PRICE_OF_A_BIN + len(weights) or time.monotonic() - began > limit_s:
            return best
        add(content)


def most_valuable(
    weights: Sequence[int], capacity: int, prices: Sequence[int], *, limit_s: float | None = None
) -> list[int]:
    """The content of one bin with the largest sum of prices, exactly. Raises _TimeIsUp."""
    items = [item for item in range(len(weights)) if prices[item] and weights[item] <= capacity]
    best: tuple[int, tuple[int, ...]] = (0, ())

    def is_better(value: int) -> bool:
        return value > best[0]

    for found in _contents(items, weights, prices, capacity, is_better, limit_s):
        best = found
    return list(best[1])


def worth_at_least(
    weights: Sequence[int], capacity: int, prices: Prices, least: int, *, most: int, limit_s: float | None = None
) -> list[tuple[int, ...]] | None:
    """Every content of one bin with a sum of prices of at least `least`, or None when they are more than `most`, or
    take longer to list than `limit_s`."""
    worth = _contents(range(len(weights)), weights, prices.of_items, capacity, lambda value: value >= least, limit_s)
    try:
        found = list(islice((content for _, content in worth if content), most + 1))
    except _TimeIsUp:
        return None
    return found if len(found) <= most else None


def _contents(
    items: Sequence[int],
    weights: Sequence[int],
    prices: Sequence[int],
    capacity: int,
    suffices: Callable[[int], bool],
    limit_s: float | None,
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """The sums of prices that suffice, each with its content of one bin: branch and bound. A larger sum must suffice
    where a smaller one does. Raises _TimeIsUp."""
    clock = _Clock(limit_s)
    order = sorted(items, key=lambda item: (-prices[item] / weights[item], item))
    weight = [weights[item] for item in order]
    price = [prices[item] for item in order]
    taken: list[int] = []

    def search(place: int, room: int, value: int) -> Iterator[tuple[int, tuple[int, ...]]]:
        clock.step()
        if suffices(value):
            yield value, tuple(taken)
        for here in range(place, len(order)):
            if not suffices(value + _fractional(weight, price, here, room)):
                return
            if weight[here] <= room:
                taken.append(order[here])
                yield from search(here + 1, room - weight[here], value + price[here])
                taken.pop()

    return search(0, capacity, 0)


def _fractional(weight: Sequence[int], price: Sequence[int], place: int, room: int) -> int:
    """No content of the items from `place` on (by falling price per weight) is worth more in this room."""
    value = 0
    for here in range(place, len(weight)):
        if weight[here] > room:
            return value + price[here] * room // weight[here]
        room -= weight[here]
        value += price[here]
    return value


def _choose(contents: Sequence[tuple[int, ...]], items: int, bins: int, limit_s: float) -> Decision:
    """Decides among listed contents: every item in exactly one that is chosen, at most `bins` of them."""
    model = solver_module().CpModel()
    chosen = [model.new_bool_var("") for _ in contents]
    holding: list[list[Any]] = [[] for _ in range(items)]
    for variable, content in zip(chosen, contents, strict=True):
        for item in content:
            holding[item].append(variable)
    for variables in holding:
        model.add_exactly_one(variables)
    model.add(sum(chosen) <= bins)

    def packed(value: Callable[[Any], int]) -> Bins:
        used = [list(content) for variable, content in zip(chosen, contents, strict=True) if value(variable)]
        return used + [[] for _ in range(bins - len(used))]

    return _decided(model, limit_s, packed)


def _assign_rounded(weights: Sequence[int], capacity: int, bins: int, limit_s: float) -> Decision:
    """Decides by assigning, where the numbers are too large for the solver with rounded ones: what fits with every
    weight rounded up does fit, and what does not fit with every one rounded down does not."""
    largest = capacity + sum(weights)
    if largest < _SOLVER_HOLDS:
        return _assign(weights, capacity, bins, limit_s)
    began, unit = time.monotonic(), -(-largest // _ROUNDED_TO)
    up = [-(-weight // unit) for weight in weights]
    found = _assign(up, capacity // unit, bins, limit_s)
    left_s = limit_s - (time.monotonic() - began)
    if not found.impossible or left_s <= 0:
        return found if found.bins is not None else Decision()
    down = [weight // unit for weight in weights]
    return Decision(impossible=_assign(down, capacity // unit, bins, left_s).impossible)


def _assign(weights: Sequence[int], capacity: int, bins: int, limit_s: float) -> Decision:
    """Decides by assigning each item to a bin."""
    model = solver_module().CpModel()
    order = sorted(range(len(weights)), key=lambda item: (-weights[item], item))
    # The bins are alike: the item at place p of the order may be assumed to be in one of the first p + 1.
    within = [[model.new_bool_var("") for _ in range(min(place + 1, bins))] for place in range(len(order))]
    for row in within:
        model.add_exactly_one(row)
    for place in range(bins):
        held = [(row[place], weights[item]) for row, item in zip(within, order, strict=True) if place < len(row)]
        model.add(sum(variable * weight for variable, weight in held) <= capacity)

    def packed(value: Callable[[Any], int]) -> Bins:
        found: Bins = [[] for _ in range(bins)]
        for row, item in zip(within, order, strict=True):
            found[next(place for place, variable in enumerate(row) if value(variable))].append(item)
        return found

    return _decided(model, limit_s, packed)


def _decided(model: Any, limit_s: float, packed: Callable[[Callable[[Any], int]], Bins]) -> Decision:
    """Whether the model has a solution; `packed` reads the bins from the values of its variables."""
    cp_model = solver_module()
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = limit_s
    solver.parameters.num_workers = _SEARCHERS
    solver.parameters.random_seed = 0
    solver.parameters.catch_sigint_signal = False  # or Ctrl-C would silently end this search alone
    with threads(1, cancel=solver.stop_search) as pool:  # the main thread must stay able to handle Ctrl-C
        status = pool.result(pool.submit(solver.solve, model))
    if status in (cp_model.FEASIBLE, cp_model.OPTIMAL):
        return Decision(bins=packed(solver.value))
    return Decision(impossible=status == cp_model.INFEASIBLE)


def solver_module() -> Any:
    """OR-Tools' CP-SAT. Raises SandboxError when it is not installed."""
    try:
        from ortools.sat.python import cp_model
    except ImportError as cause:
        if isinstance(cause.__cause__, KeyboardInterrupt):
            raise cause.__cause__ from None  # it was being loaded when Ctrl-C was typed
        raise SandboxError(
            f"exact bounds need OR-Tools, which is not installed ({cause}): pip install 'evolve[bounds]'"
        ) from None
    return cp_model
