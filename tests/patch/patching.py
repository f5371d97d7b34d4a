"""A small program, and answers that patch it."""

import pytest

from evolve.core.errors import PatchError
from evolve.core.program import PatchKind
from evolve.patch import PatchReason, apply_patch, parse_patch

PROGRAM = """\
import math

# EVOLVE-BLOCK-START
def low(a):
    total = 0
    for i in range(50):
        total += i
    return total

def high(a):
    if a:
        return 1
    return 2

def other(a):
    return 2
# EVOLVE-BLOCK-END

def main():
    return low(1)
"""
WHOLE = PROGRAM.replace("total = 0", "total = 5")
TWO = "# EVOLVE-BLOCK-START\na = 1\nb = 2\n# EVOLVE-BLOCK-END\nm = 0\n# EVOLVE-BLOCK-START\na = 1\n# EVOLVE-BLOCK-END\n"


def block(search: str, replace: str) -> str:
    return f"<<<<<<< SEARCH\n{search}=======\n{replace}>>>>>>> REPLACE\n"


def answer(*blocks: str) -> str:
    return f"<NAME>\nname\n</NAME>\n<DESCRIPTION>\nwhy\n</DESCRIPTION>\n<DIFF>\n{''.join(blocks)}</DIFF>\n"


def patched(text: str, program: str = PROGRAM, kind: PatchKind = PatchKind.DIFF) -> str:
    return apply_patch(parse_patch(text, kind), program)


def refusal(text: str, program: str = PROGRAM, kind: PatchKind = PatchKind.DIFF) -> PatchError:
    with pytest.raises(PatchError) as caught:
        patched(text, program, kind)
    assert caught.value.reason in set(PatchReason)
    assert len(str(caught.value)) < 6000
    return caught.value
