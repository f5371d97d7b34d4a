"""A program being patched: immutable text around evolvable lines; and line diffs in bounded time.

`difflib` takes minutes for two hostile texts of 64 KiB. So lines are compared one by one only where few have changed.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from evolve.core.program import evolve_regions, marked_regions, split_lines
from evolve.patch.match import Place

MOST_CELLS = 4_000_000
"""The most pairs of lines to compare: about a second for hostile texts. Beyond it, everything between the common lines
at both ends is one change."""

_Change = tuple[str, int, int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class EvolvingText:
    """A program being edited: immutable texts around evolvable lines. `frames` has one element more than `regions`.

    The lists in `regions` change; lines keep their ends. A program without markers is one region between two empty
    frames; should its last line have no end, it has one here, and `joined` takes it away again.
    """

    frames: tuple[str, ...]
    regions: list[list[str]]
    end: str  # the line end of new lines
    marked: bool
    ended: bool  # whether the last line has an end

    @classmethod
    def of(cls, source: str) -> "EvolvingText":
        """Take a program apart. Raises ProgramError if an evolve block is broken."""
        regions, marked = evolve_regions(source), bool(marked_regions(source))
        lines, end = split_lines(source), "\r\n" if 2 * source.count("\r\n") > source.count("\n") else "\n"
        ended = marked or not source or source.endswith("\n")
        if not ended:
            lines[-1] += end
        starts, stops = [0, *(region.stop for region in regions)], [*(region.start for region in regions), len(lines)]
        return cls(
            frames=tuple("".join(lines[a:b]) for a, b in zip(starts, stops, strict=True)),
            regions=[lines[region.start : region.stop] for region in regions],
            end=end,
            marked=marked,
            ended=ended,
        )

    def joined(self) -> str:
        """The program as it is now."""
        parts = [self.frames[0]]
        for region, frame in zip(self.regions, self.frames[1:], strict=True):
            parts += region
            parts.append(frame)
        text = "".join(parts)
        return text if self.ended else bare([text])[0]

    def first_line(self, region: int) -> int:
        """The number, from 1, of the first line of a region in the program as it is now."""
        above = sum(frame.count("\n") for frame in self.frames[: region + 1])
        return 1 + above + sum(len(lines) for lines in self.regions[:region])

    def put(self, place: Place, count: int, replace: Sequence[str]) -> None:
        """Replace `count` lines at a place by bare lines; equal lines at both ends of the stretch are left alone."""
        region = self.regions[place.text]
        old = bare(region[place.line : place.line + count])
        head, tail = common_ends(old, replace)
        new = [line + self.end for line in replace[head : len(replace) - tail]]
        region[place.line + head : place.line + count - tail] = new


def bare(lines: Sequence[str]) -> list[str]:
    """Lines without their ends."""
    return [line[:-2] if line.endswith("\r\n") else line.removesuffix("\n") for line in lines]


def common_ends(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """How many lines two stretches have in common at their beginning, and beyond those at their end."""
    shorter = min(len(old), len(new))
    head = 0
    while head < shorter and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < shorter - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return head, tail


def unified(old: Sequence[str], new: Sequence[str], *, context: int = 3, end: str = "") -> Iterator[str]:
    """The hunks of a unified diff, without file names; `end` is appended to the header of each hunk."""
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
    """Everything between `head` and `tail` equal lines as one change."""
    i, j = len(a) - tail, len(b) - tail
    return [("equal", 0, head, 0, head), ("replace", head, i, head, j), ("equal", i, len(a), j, len(b))]


def _range(start: int, count: int) -> str:
    """A range of lines as in the header of a hunk: the first one, and how many."""
    first = start + (count > 0)
    return f"{first}" if count == 1 else f"{first},{count}"
