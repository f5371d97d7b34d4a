"""Where a run that is done again parts from its record, and why, in words."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from evaluator.evaluation import Evaluation
from evaluator.untrusted import cut, one_line
from evolve.archive.lines import BEGINNING, seal
from evolve.archive.reports import InsightsReport, markdown
from evolve.review.replay import compare

_MOST = 300  # characters of a value that is shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Divergence:
    """What differs: `what` in words (`its program`), with the value on record and the one found. `generation` is None
    where it is no generation's; `event` and `seq` are of the record."""

    generation: int | None
    what: str
    recorded: str
    found: str
    event: str | None = None
    seq: int | None = None


class Diverged(Exception):
    """Raised where what is found is not what is on record."""

    def __init__(self, divergence: Divergence) -> None:
        super().__init__(divergence.what)
        self.divergence = divergence


class SessionOver(Exception):
    """Raised where a step goes on and the session on record does not: it was cut off there."""


Text = Callable[[str], str]
"""Reads a prompt or an answer by the id of its object."""

_CHOICE = ("kind", "island", "parents", "inspirations", "model", "unguided", "instead_of")
_VERDICT = (
    ("outcome", "correct", "quarantine", "combined_score", "published_score", "ceiling", "spread"),
    ("metrics", "costs", "failures", "detail", "feedback", "strict"),
)


def divergence_of(recorded: Mapping[str, Any], found: Mapping[str, Any], *, text: Text, made: Text) -> Divergence:
    """How an event differs from the one on record; `text` reads of the record, `made` of what was made now."""
    name = recorded["event"]
    differing = [key for key in dict.fromkeys([*recorded, *found]) if recorded.get(key) != found.get(key)]
    what, keys = _in_words(name, differing)
    before, after = (_shown(side, keys) for side in (recorded, found))
    if name == "asked" and keys == ["prompt"] and recorded["prompt"] and found["prompt"]:
        before, after = _first_difference(text(recorded["prompt"]), made(found["prompt"]))
    elif keys == ["report"] and recorded["report"] and found["report"]:
        reports = (markdown(InsightsReport.model_validate(side["report"])) for side in (recorded, found))
        before, after = _first_difference(*reports)
    elif keys == ["answer"]:
        before, after = _first_difference(text(recorded["answer"]), made(found["answer"]))
    elif keys == ["evaluation"]:
        before, after = _verdicts(recorded["evaluation"], found["evaluation"])
    return Divergence(
        generation=recorded.get("generation"),
        what=what,
        recorded=before,
        found=after,
        event=name,
        seq=recorded.get("seq"),
    )


def _in_words(name: str, differing: list[str]) -> tuple[str, list[str]]:
    """What differs, and the keys to be shown."""
    if name == "asked":
        if chosen := [key for key in _CHOICE if key in differing]:
            return "its choice differs", chosen
        if "position" in differing:
            return "the moment of its choice differs", ["position"]
        if "guidance" in differing:
            return "the insights report or recommendation of its prompt differs", ["guidance"]
        if "prompt" in differing:
            return "its prompt differs", ["prompt"]
        return "its question differs", differing
    if name == "evaluated":
        for key in ("source_hash", "length", "origin", "parents", "inspirations"):
            if key in differing:
                return "its program differs", [key]
        if "evaluation" in differing:
            return "its verdict differs", ["evaluation"]
        return ("its program differs" if "commit" in differing else "its record differs"), differing
    words = {
        "answered": "its answer differs",
        "refused": "what became of its answer differs",
        "held_out": "what it scores on the held-out suite differs",
        "reordered": "what it scores in new orders differs",
        "rescored": "what it scores when it is scored again differs",
        "summarising": "when an insights report was begun differs",
        "meta_answered": "a question for an insights report differs",
        "summarised": "an insights report differs",
        "closed": "the document at a session's end differs",
        "created": "what the run was begun with differs",
    }
    telling = {"answered": "answer", "rescored": "evaluation", "summarised": "report", "closed": "report"}.get(name)
    return words.get(name, f"the event `{name}` differs"), [telling] if telling in differing else differing


def _verdicts(recorded: Mapping[str, Any], found: Mapping[str, Any]) -> tuple[str, str]:
    for keys in _VERDICT:
        if shown := [key for key in keys if recorded.get(key) != found.get(key)]:
            if shown[0] == "costs":
                return _first_cost(recorded["costs"], found["costs"])
            return _shown(recorded, shown), _shown(found, shown)
    every = dict.fromkeys([*recorded, *found])
    rest = [key for key in every if recorded.get(key) != found.get(key) and key != "measured"]
    return _shown(recorded, rest), _shown(found, rest)


def _first_cost(recorded: list[Any], found: list[Any]) -> tuple[str, str]:
    for index, (before, after) in enumerate(zip_longest(recorded, found)):
        if before != after:
            return f"instance {index}: cost {before or 'none'}", f"instance {index}: cost {after or 'none'}"
    return "", ""


def _first_difference(recorded: str, found: str) -> tuple[str, str]:
    for number, (before, after) in enumerate(zip_longest(recorded.split("\n"), found.split("\n")), 1):
        if before != after:
            sides = ("(no such line)" if side is None else side for side in (before, after))
            first, second = (f"line {number}: {one_line(side, _MOST)}" for side in sides)
            return first, second
    return "", ""


def _shown(side: Mapping[str, Any], keys: list[str]) -> str:
    return cut(", ".join(f"{key} {one_line(str(side.get(key)), _MOST)}" for key in keys), 2 * _MOST)


def as_read(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an event as a reader of the journal finds them."""
    return seal(fields, BEGINNING)[1]


def settled(recorded: Mapping[str, Any], found: Mapping[str, Any], *, lenient: bool) -> tuple[bool, Mapping[str, Any]]:
    """Whether an evaluation (JSON) is the one on record, and what is to be written: what a clock measured, and the name
    of the sandbox level, stand as they were. `lenient`: where the clock or the program itself is in the score, it is
    enough that the two agree as `evolve replay` has it; the record then stands whole."""
    other = {**found, "measured": recorded["measured"], "sandbox": recorded["sandbox"]}
    if as_read({"evaluation": other})["evaluation"] == recorded:
        return True, other
    if lenient and _agree(recorded, found):
        return True, recorded
    return False, found


def _agree(recorded: Mapping[str, Any], found: Mapping[str, Any]) -> bool:
    strict = [None if one["strict"] is None else one["strict"]["agrees"] for one in (recorded, found)]
    return strict[0] == strict[1] and compare(Evaluation.from_json(recorded), Evaluation.from_json(found)).equal
