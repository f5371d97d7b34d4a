"""A picture of an answer: the step function above, its autoconvolution below, each over its own interval."""

from collections.abc import Sequence

from evaluator.tasks.autocorrelation.convolution import autoconvolution

_WIDTH, _HEIGHT, _MARGIN = 800, 240, 20


def picture(steps: Sequence[int]) -> str:
    """An SVG of heights that are not all zero; both curves are scaled to their own maximum."""
    count, top = len(steps), max(steps)
    corners = [(0.0, 0.0)]
    for index, step in enumerate(steps):
        corners += [(index / count, step / top), ((index + 1) / count, step / top)]
    corners.append((1.0, 0.0))
    sums = autoconvolution(steps)
    highest = max(sums)
    # The sum k is the value at the end of piece k + 1 of 2n; the curve is linear between, and zero at both ends.
    inner = [((k + 1) / (2 * count), value / highest) for k, value in enumerate(sums)]
    curve = [(0.0, 0.0), *inner, (1.0, 0.0)]
    value = 2 * count * highest / sum(steps) ** 2
    total = 2 * _HEIGHT + 3 * _MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH + 2 * _MARGIN} {total}" font-size="14">'
        f'<rect width="100%" height="100%" fill="white"/>'
        f'<polygon points="{_points(corners, _MARGIN)}" fill="#9ecae1" stroke="#3182bd"/>'
        f'<polygon points="{_points(curve, 2 * _MARGIN + _HEIGHT)}" fill="#fdd0a2" stroke="#e6550d"/>'
        f'<text x="{_MARGIN}" y="{_MARGIN - 5}">f: {count} heights</text>'
        f'<text x="{_MARGIN}" y="{2 * _MARGIN + _HEIGHT - 5}">f*f: C = {value:.9f}</text>'
        "</svg>"
    )


def _points(curve: Sequence[tuple[float, float]], top: int) -> str:
    """Points of the unit square as those of a polygon, in a frame that begins at `top`."""
    return " ".join(f"{_MARGIN + x * _WIDTH:.2f},{top + (1 - y) * _HEIGHT:.2f}" for x, y in curve)
