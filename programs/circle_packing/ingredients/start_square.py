# role: constructor
# why: a square grid with its surplus places left out at random fits the sides
# slots: POLISH = None
# wants: POLISH
# wire: add to STARTS
import math

SQUARE_NOISE = 0.02


def start_square(n, rng):
    """n of the places of the smallest square grid that has so many, a little disturbed."""
    side = math.isqrt(max(n - 1, 0)) + 1
    places = rng.sample([(i, j) for i in range(side) for j in range(side)], n)
    return [
        tuple(min(max((c + 0.5) / side + rng.gauss(0, SQUARE_NOISE), 0.01), 0.99) for c in place) for place in places
    ]
