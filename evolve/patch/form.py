"""The form of answer that each kind of patch asks for, and what is said of an answer in the other form.

Both forms are read for every kind. What goes back to a model about one that cannot be used never asks for another form
than its prompt did (`prompts/format_blocks.j2`, `prompts/format_code.j2`).
"""

import re
from typing import Final

from evolve.errors import PatchError
from evolve.program import PatchKind

AGAIN: Final = "Nothing was applied: send the whole patch again."
_AGAIN_WHOLE: Final = "Nothing was applied: send the whole program again."
_ADVICE: Final = re.compile(r"(?<!\s)\s++(?:Nothing was applied:|Mend it\.|Send (?:the whole|a patch))")


def asks_for_code(kind: PatchKind) -> bool:
    """Whether a prompt of that kind asks for the whole program; else for blocks."""
    return kind in (PatchKind.FULL, PatchKind.CROSS)


def asked_for(kind: PatchKind) -> str:
    """The form of answer that a prompt of that kind asks for."""
    return (
        "the whole program between <CODE> and </CODE>"
        if asks_for_code(kind)
        else "your change as SEARCH/REPLACE blocks inside <DIFF>"
    )


def in_form(error: PatchError, kind: PatchKind, *, code: bool) -> PatchError:
    """`error`, about an answer that holds whole code or (not `code`) blocks, in words that fit the kind asked for.

    Of an answer in the other form they say what is wrong, and ask for the right form in place of how to mend it."""
    whole, said = asks_for_code(kind), str(error)
    if code == whole:
        return PatchError(error.reason, said.replace(AGAIN, _AGAIN_WHOLE)) if whole else error
    fact = _ADVICE.split(said if code else said.partition("\n")[0], maxsplit=1)[0]
    held = "a whole program" if code else "SEARCH/REPLACE blocks"
    return PatchError(
        error.reason, f"{fact}\nThe answer holds {held}. Nothing was applied: send {asked_for(kind)}, as the form says."
    )
