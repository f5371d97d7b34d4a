"""The recipe of the instances."""

import random
from typing import Any, Final

SIDE: Final = 1000
SHAPES: Final = ("scattered", "clustered")
_FEWEST, _MOST = 80, 200


def draw_points(rng: random.Random, shape: str | None = None) -> dict[str, Any]:
    """Points of a square, scattered evenly or around a few centres (None: either)."""
    shape = shape or rng.choice(SHAPES)
    count = rng.randint(_FEWEST, _MOST)
    if shape == "scattered":
        points = [[rng.randrange(SIDE), rng.randrange(SIDE)] for _ in range(count)]
    else:
        centres = [(rng.randrange(SIDE), rng.randrange(SIDE)) for _ in range(rng.randint(5, 12))]
        points = [[_near(rng, c) for c in rng.choice(centres)] for _ in range(count)]
    return {"shape": shape, "points": points}


def _near(rng: random.Random, centre: int) -> int:
    return min(SIDE - 1, max(0, round(rng.gauss(centre, 50))))
