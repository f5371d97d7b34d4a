# role: constructor
# why: rows that are shifted by half a step are how equal circles lie most densely
# slots: POLISH = None
# wants: POLISH
# wire: add to STARTS
import math

HEX_NOISE = 0.02


def start_hexagonal(n, rng):
    """n of the centres of shifted rows, a little disturbed."""
    rows = max(1, round(math.sqrt(n) * 1.07) + rng.randint(-1, 1))
    widths = [n // rows + (row < n % rows) for row in range(rows)]
    rng.shuffle(widths)
    points = []
    for row, width in enumerate(widths):
        for k in range(width):
            x = (k + 0.25 + 0.5 * (row % 2)) / (width + 0.0)
            y = (row + 0.5) / rows
            points.append(tuple(min(max(c + rng.gauss(0, HEX_NOISE), 0.01), 0.99) for c in (x, y)))
    return points
