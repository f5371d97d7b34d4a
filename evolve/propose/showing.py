"""The files of a program as a prompt shows them: those near the change whole, as far as there is room, the rest by
their definitions. Pure."""

import ast
import contextlib
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from evaluator.program_files import Files
from evolve.core.completion import estimate_tokens
from evolve.core.errors import ProgramError
from evolve.core.program import split_lines
from evolve.core.python_source import first_line, parsed
from evolve.lang.languages import PYTHON, language_of
from evolve.proposal import Request

_PIECE: Final = 60
"""Lines of a piece of a file whose definitions are not known."""
_MOST_LISTED: Final = 12
"""Definitions that are listed in the place of one stretch of lines."""
_OUTLINES: Final = 0.25
"""The part of the room that outlines may take at most."""
_DEFINES: Final = re.compile(
    r"[ \t]*(?:(?:pub|public|private|protected|static|export|default|async|inline|extern|abstract|final)\b[ \t]*)*"
    r"(?:def|class|func|fn|function|struct|enum|trait|impl|interface|module|namespace|type|sub|proc)\b[^\n]*"
    r"|[A-Za-z_][\w \t*&<>:,]*\([^;\n]*\)[ \t]*\{?[ \t]*"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownFile:
    """A file in a prompt. `lines` counts its lines; `whole`: `text` is all of it; `text` is "" where only its name
    fits."""

    path: str
    fence: str
    lines: int
    whole: bool
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """Some lines of a file, and the first lines of the definitions in them."""

    text: str
    lines: int
    defines: tuple[str, ...]


def shown_files(files: Files, room: int, near: Sequence[str], turn: int) -> tuple[ShownFile, ...]:
    """The files, those in `near` first, within `room` tokens. Of a file that does not fit whole, the pieces that do are
    shown; `turn` says with which it begins, so that different prompts show different ones."""
    order = [*(path for path in near if path in files), *_turned([path for path in files if path not in near], turn)]
    pieces = {path: _pieces(path, text) for path, text in files.items()}
    outlines = {path: _assembled(pieces[path], frozenset()) for path in order}
    shown, left = dict[str, str](), int(_OUTLINES * room)
    for path in order:  # first the outlines, so that no file is unknown
        if (cost := estimate_tokens(outlines[path])) <= left:
            shown[path], left = outlines[path], left - cost
    left += room - int(_OUTLINES * room)
    for path in order:
        saved = estimate_tokens(shown.get(path, ""))
        if (cost := estimate_tokens(files[path])) <= left + saved:
            shown[path], left = files[path], left + saved - cost
        elif (text := _as_fits(pieces[path], left + saved, turn if path in near[:1] or not near else 0)) is not None:
            shown[path], left = text, left + saved - estimate_tokens(text)
    return tuple(
        ShownFile(
            path=path,
            fence=language_of(path).fence,
            lines=len(split_lines(files[path])),
            whole=shown.get(path) == files[path],
            text=shown.get(path, ""),
        )
        for path in order
    )


def near_the_change(request: Request) -> list[str]:
    """The files of the parent that the request speaks of: refusals, how the parent failed, what it changed, the
    recommendation. In that order, each by its first mention."""
    files, evaluation = request.parent.program.files, request.parent.evaluation
    guidance = request.guidance
    texts = [refusal.message for refusal in reversed(request.refusals)]
    texts += [] if evaluation.correct else [f"{evaluation.detail}\n{evaluation.feedback}"]
    texts.append("\n".join(request.parent.program.origin.features))
    texts.append((guidance and guidance.recommendation) or "")
    near: dict[str, None] = {}
    for text in texts:
        places = {path: _mention(path, text) for path in files if path not in near}
        near |= dict.fromkeys(sorted((path for path, at in places.items() if at >= 0), key=lambda path: places[path]))
    return list(near)


def _mention(path: str, text: str) -> int:
    """Where a text names a file; -1 if it does not."""
    named = re.search(rf"(?<![\w/.-]){re.escape(path)}(?![\w-])", text)
    return -1 if named is None else named.start()


def _turned(paths: list[str], turn: int) -> list[str]:
    at = turn % len(paths) if paths else 0
    return paths[at:] + paths[:at]


def _as_fits(pieces: Sequence[_Piece], room: int, turn: int) -> str | None:
    """A file with as many pieces as fit, from that of `turn` on; None if none fits."""
    order = list(_turned_numbers(len(pieces), turn))

    def fits(count: int) -> bool:
        return estimate_tokens(_assembled(pieces, frozenset(order[:count]))) <= room

    count = bisect_left(range(1, len(order)), True, key=lambda count: not fits(count))
    return _assembled(pieces, frozenset(order[:count])) if count else None


def _turned_numbers(count: int, turn: int) -> Iterator[int]:
    """All numbers below `count`, beginning with one that `turn` chooses."""
    at = turn % count if count else 0
    yield from range(at, count)
    yield from range(at)


def _assembled(pieces: Sequence[_Piece], chosen: frozenset[int]) -> str:
    """The chosen pieces; in the place of others a line that says so, and their definitions."""
    parts: list[str] = []
    line, gap, defines = 1, 0, list[str]()

    def close() -> None:
        nonlocal gap
        if gap:
            listed = defines[:_MOST_LISTED]
            more = f"\n[... and {len(defines) - len(listed)} more definitions]" if len(defines) > len(listed) else ""
            what = ", which define:" if listed else ""
            parts.append("\n".join([f"[lines {line - gap} to {line - 1} are not shown{what}]", *listed]) + more + "\n")
            gap = 0
            defines.clear()

    for at, piece in enumerate(pieces):
        if at in chosen:
            close()
            parts.append(piece.text)
        else:
            gap += piece.lines
            defines += piece.defines
        line += piece.lines
    close()
    return "".join(parts)


def _pieces(path: str, text: str) -> list[_Piece]:
    """A file cut into pieces: of Python its definitions and what is between them, of others stretches of lines."""
    lines = split_lines(text)
    starts = set(range(0, len(lines), _PIECE))
    if language_of(path) is PYTHON:
        with contextlib.suppress(ProgramError):
            starts = {0, *_starts(parsed(text))}
    cuts = sorted({*starts, len(lines)})
    return [_piece(lines[a:b]) for a, b in pairwise(cuts)]


def _starts(tree: ast.Module) -> Iterator[int]:
    """The lines (from 0) at which definitions begin and end: of the module, and of large classes."""
    waiting: list[ast.stmt] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            first, last = first_line(node) - 1, node.end_lineno or node.lineno
            yield from (first, last)
            if isinstance(node, ast.ClassDef) and last - first > _PIECE:
                waiting += node.body


def _piece(lines: Sequence[str]) -> _Piece:
    defines = tuple(line.rstrip() for line in lines if _DEFINES.fullmatch(line.rstrip("\r\n")))
    return _Piece(text="".join(lines), lines=len(lines), defines=defines)
