"""What `random` and `numpy.random` are seeded with: a function of what the program is shown. No draw tells more.

Were it a function of the suite and the place in it, the first draw would name the instance: a program could look up
its answer, tell the held-out suite from the suite, and know the items of a conversation that are still to come.
"""

import hashlib
import json
from collections.abc import Iterator
from typing import Any, Final


def seed_of(shown: Any) -> int:
    """The seed for plain data. Neither the order of the data nor which name stands where counts: strict re-evaluation
    changes both, and a program must not know from a draw that it is re-evaluated."""
    text = "\n".join(sorted(_scalars(shown)))
    return int.from_bytes(hashlib.sha256(text.encode("ascii")).digest()[:4], "big")


def _scalars(data: Any) -> Iterator[str]:
    """All keys and values of plain data as JSON, one by one."""
    waiting = [data]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += [*value.keys(), *value.values()]
        elif isinstance(value, list | tuple):
            waiting += value
        else:
            yield json.dumps(value)


LOAD_SEED: Final = seed_of("load")
"""For the time before the first instance: the same for all suites."""
