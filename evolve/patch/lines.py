"""What differs between two sources, line by line, in a time that has a bound.

`difflib` takes minutes for two texts of 64 KiB that were made for that. So lines are compared one by one only where few
have changed.
"""

from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher

from evolve.patch.text import common_ends

MOST_CELLS = 4_000_000
"""So many pairs of lines are compared: about a second, of texts that were made to take long. Where more would be, all
that stands between the lines in common at both ends is one change."""

_Change = tuple[str, int, int, int, int]


def unified(old: Sequence[str], new: Sequence[str], *, context: int = 3, end: str = "") -> Iterator[str]:
    """The hunks of a unified diff, without the names of files; `end` is what the line of a hunk's places ends with."""
    head = tail = 0
    if len(old) * len(new) > MOST_CELLS:
        head, tail = common_ends(old, new)
    first, after = max(0, head - context), max(0, tail - context)
    a, b = old[first : len(old) - after], new[first : len(new) - after]
    groups: Iterable[Sequence[_Change]] = [_one_change(a, b, head - first, tail - after)]
    if len(a) * len(b) <= MOST_CELLS:
        groups = SequenceMatcher(None, a, b).get_grouped_opcodes(context)
    for group in groups:
        (_, i1, _, j1, _), (_, _, i2, _, j2) = group[0], group[-1]
        yield f"@@ -{_range(i1 + first, i2 - i1)} +{_range(j1 + first, j2 - j1)} @@{end}"
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                yield from (f" {line}" for line in a[i1:i2])
            else:
                yield from (f"-{line}" for line in a[i1:i2])
                yield from (f"+{line}" for line in b[j1:j2])


def _one_change(a: Sequence[str], b: Sequence[str], head: int, tail: int) -> Sequence[_Change]:
    """All between so many equal lines at both ends as one change."""
    i, j = len(a) - tail, len(b) - tail
    return [("equal", 0, head, 0, head), ("replace", head, i, head, j), ("equal", i, len(a), j, len(b))]


def _range(start: int, count: int) -> str:
    """Lines as a hunk names them: from which on, and how many."""
    first = start + (count > 0)
    return f"{first}" if count == 1 else f"{first},{count}"
