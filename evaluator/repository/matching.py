"""A user's regular expression on what a program printed, in a process of its own.

A search can take exponential time. It cannot be stopped in this process, and no other thread runs meanwhile.
"""

import json
import subprocess
import sys
from typing import Final

LONGEST_S: Final = 2
"""CPU seconds of one search."""
_SCRIPT: Final = """
import json, re, resource, sys
pattern, text, seconds = json.load(sys.stdin)
resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
found = re.compile(pattern, re.M)
json.dump([match[1] if found.groups else match[0] for match in found.finditer(text)], sys.stdout)
"""


class PatternTooSlow(Exception):
    """Raised for a regular expression that takes more than `LONGEST_S`; the message says which."""


def found_by(pattern: str, text: str) -> list[str | None]:
    """The first group of each match, or all of it where the pattern has none; None for a group that takes no part.
    Raises PatternTooSlow."""
    ran = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _SCRIPT],
        input=json.dumps([pattern, text, LONGEST_S]).encode("ascii"),
        capture_output=True,
        check=False,
    )
    if ran.returncode < 0:  # a signal ended it, at the limit
        raise PatternTooSlow(f"the regular expression {pattern!r} takes more than {LONGEST_S} s on what was printed")
    ran.check_returncode()
    found: list[str | None] = json.loads(ran.stdout)
    return found
