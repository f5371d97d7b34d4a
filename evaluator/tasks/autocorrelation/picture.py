"""A picture of an answer: the step function above, its autoconvolution below, each over its own interval."""

from collections.abc import Sequence

from evaluator.tasks.autocorrelation.convolution import autoconvolution
from evaluator.tasks.two_curves import two_curves


def picture(steps: Sequence[int]) -> str:
    """An SVG of heights that are not all zero; both curves are scaled to their own maximum."""
    count = len(steps)
    sums = autoconvolution(steps)
    highest = max(sums)
    # The sum k is the value at the end of piece k + 1 of 2n; the curve is linear between, and zero at both ends.
    inner = [((k + 1) / (2 * count), value / highest) for k, value in enumerate(sums)]
    value = 2 * count * highest / sum(steps) ** 2
    return two_curves(steps, f"f: {count} heights", [(0.0, 0.0), *inner, (1.0, 0.0)], f"f*f: C = {value:.9f}")
