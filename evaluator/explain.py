"""A candidate's failure in words that help its author to mend it. Everything in it is untrusted text, made harmless."""

import re
from collections.abc import Sequence
from typing import Final

from evaluator.sandbox.protocol import Fault
from evaluator.untrusted import block, one_line

FULL_LIMIT: Final = 8 * 1024
SHORT_LIMIT: Final = 300
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,16}\b")
_WHERE: Final = {"adapter": "while its arguments were prepared: ", "answer": "what it returned is no answer: "}
_REFUSED: Final = " (the sandbox has no files, network, processes, threads or sleep: compute with what is passed in)"


def summary(fault: Fault) -> str:
    """One sentence: what was raised, and on which line of the program."""
    where = ""
    if fault.lines and fault.kind != "adapter":  # whose lines are no lines of the program
        line, function = fault.lines[-1]
        where = f" (line {line})" if function == "<module>" else f" (line {line}, in {function})"
    return steady(f"{_WHERE.get(fault.kind, '')}{fault.text}{where}{_hint(fault)}")


def traceback(fault: Fault, source_lines: Sequence[str]) -> str:
    """The program's own lines on the way to the exception, outermost first, and the exception."""
    shown = []
    for line, function in () if fault.kind == "adapter" else fault.lines:
        code = source_lines[line - 1].strip()[:160] if 0 < line <= len(source_lines) else ""
        shown.append(f"  line {line}, in {function}: {code}".rstrip())
    head = ["Traceback (lines of the program):", *shown] if shown else []
    return steady("\n".join([*head, f"{_WHERE.get(fault.kind, '')}{fault.text}{_hint(fault)}"]))


def short(text: str) -> str:
    """Untrusted text as one line of at most `SHORT_LIMIT` characters."""
    line = one_line(text, SHORT_LIMIT - 40)
    return line if len(line) <= SHORT_LIMIT else f"{line[: SHORT_LIMIT - 6]} [...]"


def full(text: str) -> str:
    """Untrusted text with its line breaks, in at most `FULL_LIMIT` characters."""
    shown = block(text, FULL_LIMIT - 100)
    return shown if len(shown) <= FULL_LIMIT else f"{shown[: FULL_LIMIT - 6]} [...]"


def _hint(fault: Fault) -> str:
    refused = fault.type == "PermissionError" or "can't start new thread" in fault.message
    return _REFUSED if refused else ""


def steady(text: str) -> str:
    """The same text for the same failure: addresses in memory differ from process to process."""
    return _ADDRESS.sub("0x...", text)
