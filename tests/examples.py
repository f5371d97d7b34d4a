"""How many examples a property takes: the hypothesis profile decides, so no test names a number of its own.

`evolve` is the profile of every run of the tests, `nightly` that of `make nightly`. A test that needs other settings
takes them from `part_of_the_examples` or from `settings(...)` without `max_examples`.
"""

from collections.abc import Callable
from typing import Any

from hypothesis import settings


def load_profiles() -> None:
    """Register both profiles and load the usual one. No example has a deadline: no test asserts a time."""
    settings.register_profile("evolve", deadline=None, max_examples=25)
    settings.register_profile("nightly", deadline=None, max_examples=600)
    settings.load_profile("evolve")


def part_of_the_examples(divisor: int, **others: Any) -> Callable[[Any], Any]:
    """One in `divisor` of the profile's examples, for a property whose single examples are slow."""
    return settings(max_examples=max(1, settings.default.max_examples // divisor), **others)
