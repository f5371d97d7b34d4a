"""Finds the SEARCH lines of a patch in a program, and a hint for its author if they are not there.

Lines are compared whole and without their line ends. Similarity serves the hint alone: it never chooses a place.
"""

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches, unified_diff
from enum import IntEnum

from evolve.patch.format import shown

MAX_PLACES = 6
_BLANKS = " \t\r\f"
_HINT_LINES = 14
_HINT_PROGRAM_LINES = 2000


class Level(IntEnum):
    """How closely SEARCH lines agree with the program. The closest level with any place decides."""

    EXACT = 0
    TRAILING = 1  # but for blanks at the ends of lines
    INDENTATION = 2  # and but for one indentation, common to all lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Some lines of a text: which of the texts, and the index of the first line in it."""

    text: int
    line: int


def places(search: Sequence[str], texts: Sequence[Sequence[str]]) -> tuple[Level, list[Place]]:
    """The places of `search` (not all of it blank) in `texts`, at the first level that has any; at most MAX_PLACES.

    An empty list with the last level says that there are none.
    """
    for level in Level:
        starts = (
            Place(text=index, line=line)
            for index, lines in enumerate(texts)
            if len(search) <= len(lines)
            for line in _starts(search, lines, level)
        )
        if matches := list(itertools.islice(starts, MAX_PLACES)):
            return level, matches
    return level, []


def reindented(replace: Sequence[str], search: Sequence[str], window: Sequence[str]) -> list[str] | None:
    """`replace` moved from the common indentation of `search` to that of `window`, the lines that it matched.

    None if a line stands further left than the move allows.
    """
    old, new = _margin(search), _margin(window)
    moved: list[str] = []
    for line in replace:
        if not line.strip(_BLANKS):
            moved.append("")
        elif line.startswith(old):
            moved.append(new + line[len(old) :])
        elif new.startswith(old):
            moved.append(new[len(old) :] + line)
        elif old.startswith(new) and line.startswith(old[len(new) :]):
            moved.append(line[len(old) - len(new) :])
        else:
            return None
    return moved


def nearest_lines(search: Sequence[str], texts: Sequence[tuple[int, Sequence[str]]]) -> str:
    """The program lines most similar to the first ones of `search`, as a unified diff from `search` to the program.

    `texts` are pairs of the first line's number in the program, and lines. Empty if no line is similar.
    """
    head = [line.rstrip(_BLANKS) for line in search[:_HINT_LINES]]
    best: tuple[int, int, Sequence[str], int] | None = None  # votes, number of the first line, lines, offset
    for first, lines in texts:
        votes, offset = _best_offset(head, lines)
        if votes and (best is None or votes > best[0]):
            best = (votes, first, lines, offset)
    if best is None:
        return ""
    _, first, lines, offset = best
    start = max(0, offset - 1)
    window = [shown(line) for line in lines[start : max(offset, 0) + len(head) + 1]]
    wanted = [shown(line) for line in head]
    if offset > 0:
        wanted.insert(0, window[0])  # the line above is context, and no difference
    if len(window) > len(wanted):
        wanted += window[len(wanted) :]
    return "\n".join(_diff(wanted, window, first + start))


def _diff(search: list[str], program: list[str], first: int) -> Iterator[str]:
    yield "--- the SEARCH lines"
    yield f"+++ the program, lines {first}-{first + len(program) - 1}"
    new = first
    for row in list(unified_diff(search, program, lineterm="", n=len(program) + len(search)))[3:] or [
        f" {line}" for line in program
    ]:
        number = "     "
        if row[0] != "-":
            number = f"{new:5d}"
            new += 1
        yield f"{row[0]}{number} | {row[1:]}"


def _best_offset(head: list[str], lines: Sequence[str]) -> tuple[int, int]:
    """The offset at which most lines of `head` agree, layout aside: the votes, and its index in `lines`."""
    at: dict[str, list[int]] = {}
    for index, line in enumerate(head):
        if text := line.strip(_BLANKS):
            at.setdefault(text, []).append(index)
    votes: Counter[int] = Counter()
    stripped = [line.strip(_BLANKS) for line in lines]
    for number, text in enumerate(stripped):
        for index in at.get(text, ()):
            votes[number - index] += 1
    if votes:
        most = max(votes.values())
        return 2 * most, min(offset for offset, count in votes.items() if count == most)
    # No line agrees: the line most similar to the first one of the search, if any is.
    wanted = next(iter(at), "")[:160]
    numbers = {text[:160]: number for number, text in reversed(list(enumerate(stripped[:_HINT_PROGRAM_LINES]))) if text}
    close = get_close_matches(wanted, numbers, n=1, cutoff=0.6)
    return (1, numbers[close[0]] - at[next(iter(at))][0]) if close else (0, 0)


def _starts(search: Sequence[str], lines: Sequence[str], level: Level) -> Iterator[int]:
    """The indices in `lines` at which `search` matches at a level, rising."""
    if level is Level.INDENTATION:
        yield from _indented_starts(search, lines)
        return
    wanted, given = (
        (search, lines) if level is Level.EXACT else ([_trimmed(x) for x in search], [_trimmed(x) for x in lines])
    )
    yield from _rows("\n" + "\n".join(wanted) + "\n", "\n" + "\n".join(given) + "\n")


def _indented_starts(search: Sequence[str], lines: Sequence[str]) -> Iterator[int]:
    # Each line becomes two rows, the step in indentation from the line above and its text, so that runs of lines are
    # equal whatever indentation they have in common; the first line's step is left out. One substring search finds all.
    blank = next(index for index, line in enumerate(search) if line.strip(_BLANKS))
    key = "\n" + "\n".join(_steps(search[blank:])[1:]) + "\n"
    for row in _rows(key, "\n" + "\n".join(_steps(lines)) + "\n"):
        start = row // 2 - blank
        above = range(row // 2 - 1, start - 1, -1)
        if row % 2 == 1 and start >= 0 and not any(lines[index].strip(_BLANKS) for index in above):
            yield start


def _rows(key: str, text: str) -> Iterator[int]:
    """The rows of `text` at which the rows of `key` stand; both begin and end with a line break."""
    position = text.find(key)
    counted = row = 0
    while position >= 0:
        row += text.count("\n", counted, position)
        counted = position
        yield row
        position = text.find(key, position + 1)


def _steps(lines: Sequence[str]) -> list[str]:
    rows: list[str] = []
    above = ""
    for line in lines:
        text = line.strip(_BLANKS)
        if not text:
            rows += ("", "")
            continue
        indentation = line[: len(line) - len(line.lstrip(_BLANKS))]
        common = len(_shared((above, indentation)))
        rows += (f"-{above[common:]}+{indentation[common:]}", text)
        above = indentation
    return rows


def _trimmed(line: str) -> str:
    return line.rstrip(_BLANKS)


def _margin(lines: Sequence[str]) -> str:
    """The indentation that all lines but the blank ones begin with."""
    return _shared([line[: len(line) - len(line.lstrip(_BLANKS))] for line in lines if line.strip(_BLANKS)])


def _shared(texts: Sequence[str]) -> str:
    """The common prefix of all texts; empty if there are none."""
    if not texts:
        return ""
    # The first and the last in sorted order differ where any two do.
    low, high = min(texts), max(texts)
    length = next((index for index, pair in enumerate(zip(low, high, strict=False)) if pair[0] != pair[1]), len(low))
    return low[:length]
