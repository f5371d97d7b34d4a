"""A picture of two curves, one above the other: a step function, and what is computed from it."""

from collections.abc import Sequence

_WIDTH, _HEIGHT, _MARGIN = 800, 240, 20

Curve = Sequence[tuple[float, float]]
"""Points of the unit square, from left to right."""


def two_curves(steps: Sequence[int], upper: str, curve: Curve, lower: str) -> str:
    """An SVG: above, the steps (not all zero) scaled to their maximum; below, `curve`. Each has its title."""
    count, top = len(steps), max(steps)
    corners = [(0.0, 0.0)]
    for index, step in enumerate(steps):
        corners += [(index / count, step / top), ((index + 1) / count, step / top)]
    corners.append((1.0, 0.0))
    total = 2 * _HEIGHT + 3 * _MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH + 2 * _MARGIN} {total}" font-size="14">'
        f'<rect width="100%" height="100%" fill="white"/>'
        f'<polygon points="{_points(corners, _MARGIN)}" fill="#9ecae1" stroke="#3182bd"/>'
        f'<polygon points="{_points(curve, 2 * _MARGIN + _HEIGHT)}" fill="#fdd0a2" stroke="#e6550d"/>'
        f'<text x="{_MARGIN}" y="{_MARGIN - 5}">{upper}</text>'
        f'<text x="{_MARGIN}" y="{2 * _MARGIN + _HEIGHT - 5}">{lower}</text>'
        "</svg>"
    )


def _points(curve: Curve, top: int) -> str:
    """Points of the unit square as those of a polygon, in a frame that begins at `top`."""
    return " ".join(f"{_MARGIN + x * _WIDTH:.2f},{top + (1 - y) * _HEIGHT:.2f}" for x, y in curve)
