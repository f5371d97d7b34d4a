"""A text as what it has in common with another, in the form that git's packs have.

Found line by line and not byte by byte: in Python that is the difference between 0.2 ms and 10 ms for a prompt of
25 KB, and programs, prompts and answers differ by lines.
"""

_MOST_COPIED = 0xFFFFFF
_MOST_INSERTED = 127


class Lines:
    """A text that others may be told by: where each of its lines stands."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.lines = content.splitlines(keepends=True)
        self.places: dict[bytes, int] = {}  # of each line, where it comes first
        for number, line in enumerate(self.lines):
            self.places.setdefault(line, number)
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))


def delta(base: Lines, content: bytes) -> bytes:
    """How to make `content` of a base: lengths, then what to copy and what to insert."""
    made = [_length(len(base.content)), _length(len(content))]
    copied, until = 0, 0  # a stretch of the base, in lines
    fresh: list[bytes] = []
    for line in content.splitlines(keepends=True):
        if copied < until < len(base.lines) and base.lines[until] == line:
            until += 1
            continue
        place = base.places.get(line) if len(line) > 3 else None
        if place is None:
            if copied < until:
                made.append(_copy(base.starts[copied], base.starts[until]))
                copied = until = 0
            fresh.append(line)
            continue
        if copied < until:
            made.append(_copy(base.starts[copied], base.starts[until]))
        if fresh:
            made.append(_insert(b"".join(fresh)))
            fresh = []
        copied, until = place, place + 1
    if copied < until:
        made.append(_copy(base.starts[copied], base.starts[until]))
    if fresh:
        made.append(_insert(b"".join(fresh)))
    return b"".join(made)


def _length(number: int) -> bytes:
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    found.append(number)
    return bytes(found)


def _copy(start: int, end: int) -> bytes:
    found = bytearray()
    while start < end:
        size = min(end - start, _MOST_COPIED)
        command, numbers = 128, bytearray()
        for bit in range(4):
            if byte := start >> 8 * bit & 255:
                command |= 1 << bit
                numbers.append(byte)
        if size != 0x10000:  # which stands for itself, left out
            for bit in range(3):
                if byte := size >> 8 * bit & 255:
                    command |= 16 << bit
                    numbers.append(byte)
        found.append(command)
        found += numbers
        start += size
    return bytes(found)


def _insert(data: bytes) -> bytes:
    pieces = (data[start : start + _MOST_INSERTED] for start in range(0, len(data), _MOST_INSERTED))
    return b"".join(bytes((len(piece),)) + piece for piece in pieces)
