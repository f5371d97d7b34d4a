"""How the answers of a best program stand in git: a JSON list in one file, an answer a line, so that a version of it is
stored as what differs from the one before."""

from collections.abc import Sequence
from typing import Final

from evaluator.sandbox.protocol import strict_json

ANSWERS: Final = "answers.json"


def as_text(answers: Sequence[str]) -> str:
    """The file of answers, each of which is JSON."""
    return "[\n" + ",\n".join(answers) + "\n]\n"


def of_text(text: str) -> list[object]:
    """The answers in such a file. Raises ValueError or RecursionError when it is none."""
    match strict_json(text):
        case list(answers):
            return answers
    raise ValueError("it is no list")
