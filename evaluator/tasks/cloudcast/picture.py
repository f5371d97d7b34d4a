"""The picture of routes: regions by the number of links from the source, coloured by cloud; links coloured by price."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final
from xml.sax.saxutils import escape

from evaluator.tasks.cloudcast.network import network, provider
from evaluator.tasks.cloudcast.rule import Bill, Link

_COLUMN, _ROW, _MARGIN, _HEAD, _BOX, _LABEL = 230, 30, 20, 64, 9, 170
_CLOUDS: Final = {"aws": "#e8820c", "azure": "#2f6fd0", "gcp": "#2a9d4a"}
_PRICES: Final = (("0.03", "#7fbf7b"), ("0.09", "#c9a227"), ("0.13", "#e06030"), ("1", "#b2182b"))
"""The colour of links up to each price, in US$ per GB."""
_INK: Final = "#222"
_HALO: Final = 'stroke="white" stroke-width="3" paint-order="stroke"'
"""So that a text can be read on a link."""


def picture(instance: Mapping[str, Any], bill: Bill) -> str:
    """An SVG of routes with this bill."""
    places = _places(instance["source"], bill)
    columns = 1 + max(column for column, _ in places.values())
    rows = 1 + max(row for _, row in places.values())
    width, height = 2 * _MARGIN + (columns - 1) * _COLUMN + _LABEL, _HEAD + rows * _ROW + _MARGIN
    points = {
        region: (_MARGIN + column * _COLUMN + _BOX, _HEAD + row * _ROW + _ROW / 2)
        for region, (column, row) in places.items()
    }
    wanted = {instance["source"], *instance["destinations"]}
    return "".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {max(width, 640)} {height:.0f}" font-size="12" '
            'font-family="sans-serif"><rect width="100%" height="100%" fill="white"/>',
            *_head(instance, bill),
            *(_link(link, points, load, instance["parts"]) for link, load in bill.loads.items()),
            *(_price(link, points[link[1]], bill.loads[link], instance["parts"]) for link in _first_into(bill)),
            *(_region(region, point, region in wanted) for region, point in points.items()),
            "</svg>",
        ]
    )


def _places(source: str, bill: Bill) -> dict[str, tuple[int, float]]:
    """The column and row of each region. It stands right of the region whose link first enters it, in the order of
    clouds; what it leads to stands around its own row."""
    onward: dict[str, list[str]] = {region: [] for region in bill.regions}
    for a, b in _first_into(bill):
        onward[a].append(b)
    places: dict[str, tuple[int, float]] = {}
    _place(source, 0, 0, {region: sorted(targets) for region, targets in onward.items()}, places)
    return places


def _place(
    region: str,
    column: int,
    row: int,
    onward: Mapping[str, Sequence[str]],
    places: dict[str, tuple[int, float]],
) -> int:
    """Give a region and all behind it their places from a row on; returns the next free row."""
    first = row
    for target in onward[region]:
        row = _place(target, column + 1, row, onward, places)
    row = max(row, first + 1)
    behind = [places[target][1] for target in onward[region]]
    places[region] = column, (behind[0] + behind[-1]) / 2 if behind else first
    return row


def _head(instance: Mapping[str, Any], bill: Bill) -> list[str]:
    relays = len(set(bill.regions) - {instance["source"], *instance["destinations"]})
    deadline = "" if instance["deadline_s"] is None else f" of {instance['deadline_s']} s"
    title = (
        f"US$ {float(bill.usd):.4f}: egress {float(bill.egress):.4f}, instances {float(bill.instances):.4f} "
        f"({len(bill.regions)} regions, {relays} of them relays, {float(bill.seconds):.2f} s{deadline})"
    )
    shapes = [f'<text x="{_MARGIN}" y="22" font-size="14" fill="{_INK}">{escape(title)}</text>']
    x = _MARGIN
    for cloud, colour in _CLOUDS.items():
        shapes.append(f'<rect x="{x}" y="36" width="12" height="12" rx="2" fill="{colour}"/>')
        shapes.append(f'<text x="{x + 16}" y="46" fill="{_INK}">{cloud}</text>')
        x += 64
    lower = "0"
    for most, colour in _PRICES:
        text = f"over {lower}" if most == "1" else f"to {most}"
        shapes.append(f'<path d="M{x} 42h18" stroke="{colour}" stroke-width="4"/>')
        shapes.append(f'<text x="{x + 22}" y="46" fill="{_INK}">{text}</text>')
        x, lower = x + 82, most
    shapes.append(f'<text x="{x}" y="46" fill="{_INK}">US$ per GB</text>')
    return shapes


def _link(link: Link, points: Mapping[str, tuple[float, float]], load: int, parts: int) -> str:
    """A curve from a region to another one, the thicker the more parts it carries."""
    (x1, y1), (x2, y2) = points[link[0]], points[link[1]]
    middle = (x2 + _LABEL + x1) / 2 if x2 > x1 else x1 - _COLUMN / 2
    return (
        f'<path d="M{x1:.1f} {y1:.1f}C{middle:.1f} {y1:.1f} {middle:.1f} {y2:.1f} {x2:.1f} {y2:.1f}" fill="none" '
        f'stroke="{_colour(link)}" stroke-width="{1 + 2.5 * load / parts:.2f}" stroke-opacity="0.85">'
        f"<title>{escape(' to '.join(link))}: {_words(link, load, parts)}</title></path>"
    )


def _price(link: Link, point: tuple[float, float], load: int, parts: int) -> str:
    """The price on a link's end, with the number of parts if it is not all."""
    x, y = point
    where = f'x="{x - _BOX - 3:.1f}" y="{y + 4:.1f}" text-anchor="end" font-size="11"'
    return f'<text {where} fill="{_INK}" {_HALO}>{_words(link, load, parts)}</text>'


def _words(link: Link, load: int, parts: int) -> str:
    return f"{float(network().prices[link]):g}" + (f" x {load}" if load < parts else "")


def _first_into(bill: Bill) -> list[Link]:
    """The link that first enters each region: the end of another one has no room for a text."""
    first: dict[str, Link] = {}
    for link in bill.loads:
        first.setdefault(link[1], link)
    return list(first.values())


def _colour(link: Link) -> str:
    return next(colour for most, colour in _PRICES if network().prices[link] <= Fraction(most))


def _region(region: str, point: tuple[float, float], wanted: bool) -> str:
    """A box in the colour of the cloud, hollow for a relay; and the name."""
    x, y = point
    colour = _CLOUDS[provider(region)]
    fill = colour if wanted else "white"
    name = escape(region.partition(":")[2])
    return (
        f'<rect x="{x - _BOX:.1f}" y="{y - _BOX:.1f}" width="{2 * _BOX}" height="{2 * _BOX}" rx="3" fill="{fill}" '
        f'stroke="{colour}" stroke-width="2"><title>{escape(region)}</title></rect>'
        f'<text x="{x + _BOX + 4:.1f}" y="{y + 4:.1f}" fill="{_INK}" {_HALO}>{name}</text>'
    )
