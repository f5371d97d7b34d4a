"""What an answer says of the recommendation that it was given, in `<FOLLOWED>...</FOLLOWED>`: one of four.

Saying it is optional, so whatever is not one of the four counts as unsaid, and is never a reason to refuse an answer.
"""

import re

from evolve.completion import Followed

_QUOTED = re.compile(
    r"^(?:[ \t]*<DIFF>[ \t]*)?<{7}[ \t]*SEARCH\b.*?(?:^>{7}[ \t]*REPLACE\b|\Z)|<CODE>.*?(?:</CODE>|\Z)",
    re.IGNORECASE | re.MULTILINE | re.DOTALL,
)
_TAG = re.compile(r"<FOLLOWED>(?P<said>[^<\n]*(?:\n[^<\n]*)?)(?:</FOLLOWED>|$)", re.IGNORECASE | re.MULTILINE)


def parse_followed(answer: str) -> Followed | None:
    """What an answer says; None where it says nothing, nothing that is known, or two things. Code is not read."""
    prose = _QUOTED.sub("", answer.replace("\r\n", "\n"))
    said = {" ".join(re.sub(r"[^a-z]+", " ", found["said"].lower()).split()) for found in _TAG.finditer(prose)}
    known = {choice.value: choice for choice in Followed}
    return known.get(said.pop()) if len(said) == 1 else None
