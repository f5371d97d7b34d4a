"""A picture of one trace: when spot was there, what ran when, what the cheapest plan had run, and the work done."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple

from evaluator.tasks.cant_be_late.exact import best_answers
from evaluator.tasks.cant_be_late.rule import ON_DEMAND, SPOT, CloudJob, after, at_tick, machine

_LEFT, _WIDTH, _ROW, _PITCH, _TOP = 120, 760, 26, 44, 50
_CURVE: Final = 200
_COLOURS: Final = {SPOT: "#6baed6", ON_DEMAND: "#e6550d"}
_STARTING: Final = {SPOT: "#08519c", ON_DEMAND: "#7f2704"}
_THERE, _GONE, _INK, _PACE = "#74c476", "#f0f0f0", "#222", "#888"


class _Ticks(NamedTuple):
    """What happened: the colour of each tick (None: nothing ran), the work done at its end, and the cost of all."""

    colours: list[str | None]
    done: list[int]
    cost: int


def picture(instance: Mapping[str, Any], answer: Sequence[str]) -> str:
    """An SVG of answers that the judge accepts."""
    own, cheapest = _ticks(instance, answer), _ticks(instance, best_answers(instance))
    deadline = instance["deadline"]
    there: list[str | None] = [_THERE if mark == "1" else _GONE for mark in instance["spot"]]
    rows = [("spot is there", there), ("this program", own.colours), ("cheapest plan", cheapest.colours)]
    scale = _WIDTH / deadline
    floor = _TOP + _PITCH * len(rows) + _CURVE
    width, height = _LEFT + _WIDTH + 30, floor + 50
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-size="13" '
        f'font-family="sans-serif"><rect width="100%" height="100%" fill="white"/>',
        f'<text x="20" y="22" fill="{_INK}">cost {own.cost}; the cheapest plan, with the trace known in advance, '
        f"costs {cheapest.cost}</text>",
        *_key(width),
    ]
    for number, (name, colours) in enumerate(rows):
        y = _TOP + _PITCH * number
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 18}" text-anchor="end" fill="{_INK}">{name}</text>')
        parts += _bars(colours, y, scale)
    parts += _curves(instance, [(own.done, _INK), (cheapest.done, _PACE)], floor, scale)
    return "".join([*parts, "</svg>"])


def _ticks(instance: Mapping[str, Any], answer: Sequence[str]) -> _Ticks:
    job = CloudJob(work_left=instance["work"])
    colours: list[str | None] = []
    done = []
    for mark, word in zip(instance["spot"], answer, strict=False):
        job = at_tick(job, mark == "1")
        used, left = machine(word, mark == "1"), job.work_left
        job = after(job, used, instance["overhead"])
        shades = _COLOURS if job.work_left < left else _STARTING
        colours.append(None if used is None else shades[used])
        done.append(instance["work"] - job.work_left)
    return _Ticks(colours, done, job.cost)


def _bars(colours: Sequence[str | None], y: int, scale: float) -> Iterator[str]:
    """One rectangle for each stretch of ticks of one colour, on a thin line where nothing runs."""
    yield f'<path d="M{_LEFT} {y + _ROW / 2}h{_WIDTH}" stroke="#ccc"/>'
    tick = 0
    for colour, stretch in groupby(colours):
        ticks = len(list(stretch))
        if colour is not None:
            x, wide = _LEFT + tick * scale, ticks * scale
            yield f'<rect x="{x:.2f}" y="{y}" width="{wide:.2f}" height="{_ROW}" fill="{colour}"/>'
        tick += ticks


def _key(right: int) -> Iterator[str]:
    """What the colours mean, on the right above the rows."""
    names = [
        ("spot works", _COLOURS[SPOT]),
        ("starts", _STARTING[SPOT]),
        ("on-demand works", _COLOURS[ON_DEMAND]),
        ("starts", _STARTING[ON_DEMAND]),
    ]
    x = right - 30 - sum(30 + 7 * len(name) for name, _ in names)
    for name, colour in names:
        yield f'<rect x="{x}" y="11" width="12" height="12" fill="{colour}"/>'
        yield f'<text x="{x + 17}" y="22" fill="{_INK}">{name}</text>'
        x += 30 + 7 * len(name)


def _curves(
    instance: Mapping[str, Any], curves: Sequence[tuple[Sequence[int], str]], floor: int, scale: float
) -> Iterator[str]:
    """The work done over time, and straight dashes for a steady pace; the deadline is the right edge."""
    work, deadline = instance["work"], instance["deadline"]
    top = floor - _CURVE + 20
    yield f'<rect x="{_LEFT}" y="{top}" width="{_WIDTH}" height="{floor - top}" fill="#fafafa" stroke="#ccc"/>'
    yield (
        f'<path d="M{_LEFT} {floor}L{_LEFT + _WIDTH} {top}" stroke="{_PACE}" stroke-dasharray="3 4" fill="none"/>'
        f'<text x="{_LEFT - 8}" y="{top + 12}" text-anchor="end" fill="{_INK}">{work} ticks</text>'
        f'<text x="{_LEFT - 8}" y="{floor}" text-anchor="end" fill="{_INK}">work done</text>'
    )
    for done, colour in reversed(curves):
        points = [f"{_LEFT:.1f},{floor}"] + [
            f"{_LEFT + (tick + 1) * scale:.1f},{floor - amount / work * (floor - top):.1f}"
            for tick, amount in enumerate(done)
        ]
        yield f'<polyline points="{" ".join(points)}" fill="none" stroke="{colour}" stroke-width="1.8"/>'
    for tick in range(0, deadline + 1, 36):
        x = _LEFT + tick * scale
        yield f'<path d="M{x:.1f} {floor}v5" stroke="{_INK}"/>'
        yield f'<text x="{x:.1f}" y="{floor + 19}" text-anchor="middle" fill="{_INK}">{tick // 6} h</text>'
    yield (
        f'<text x="{_LEFT}" y="{floor + 40}" fill="{_INK}">black: this program; grey: the cheapest plan; dashes: a '
        f"steady pace; the right edge is the deadline. A tick is 10 minutes.</text>"
    )
