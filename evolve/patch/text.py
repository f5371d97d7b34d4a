"""A program as an editor of patches sees it: immutable text around lines that may evolve."""

from collections.abc import Sequence
from dataclasses import dataclass

from evolve.patch.match import Place
from evolve.program import evolve_regions, marked_regions, split_lines


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
        found, marked = evolve_regions(source), bool(marked_regions(source))
        lines, end = split_lines(source), "\r\n" if 2 * source.count("\r\n") > source.count("\n") else "\n"
        ended = marked or not source or source.endswith("\n")
        if not ended:
            lines[-1] += end
        starts, stops = [0, *(region.stop for region in found)], [*(region.start for region in found), len(lines)]
        return cls(
            frames=tuple("".join(lines[a:b]) for a, b in zip(starts, stops, strict=True)),
            regions=[lines[region.start : region.stop] for region in found],
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
