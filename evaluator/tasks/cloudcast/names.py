"""Other names of the regions, for strict re-evaluation: of the same clouds, shape and alphabetical order.

A program that goes by quantities, clouds or the order of names answers alike; one that knows what to do with
`aws:us-east-1` does not.
"""

import random
import re
from typing import Final

from evaluator.tasks.cloudcast.network import network, provider

_ENDINGS: Final = {"aws": ("-1", "-2", "-3", "-4"), "azure": ("", "2", "3"), "gcp": ("-a", "-b", "-c", "-d")}
"""What the names of a cloud's regions end with."""
_ENDING: Final = re.compile(r"(?:-?\d|-[a-z])$")


def other_names(rng: random.Random) -> dict[str, str]:
    """A name for each region."""
    names: dict[str, str] = {}
    for cloud, endings in _ENDINGS.items():
        regions = [region for region in network().regions if provider(region) == cloud]
        possible = sorted({_ENDING.sub("", region) + ending for region in regions for ending in endings})
        names |= dict(zip(regions, sorted(rng.sample(possible, len(regions))), strict=True))
    return names
