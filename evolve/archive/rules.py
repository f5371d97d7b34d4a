"""Rules that a value in a record must keep, each with the words for what it must be."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from evaluator.evaluation import FARTHEST
from evaluator.untrusted import one_line

MAX_TEXT: Final = 64 * 1024 + 100
"""Characters of a text in an event: as many as the journal keeps, with its note of what it cut."""
MAX_NUMBER: Final = 10**9
"""No generation, attempt, position or number of programs is larger."""
MAX_ITEMS: Final = 100_000
"""Entries of one list: instances, parents, corrections."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Whether a value may stand in a field, and what one that may is."""

    ok: Callable[[Any], bool]
    must: str

    def fault(self, value: Any, path: str) -> str | None:
        """What is wrong with a value, in words; None when nothing is."""
        return None if self.ok(value) else f"`{path}` is {one_line(repr(value)[:80])}, and must be {self.must}"


@dataclass(frozen=True, slots=True)
class Shape:
    """A record: the fields that it has, and those that it may have."""

    required: Mapping[str, "Rule | Shape"]
    optional: Mapping[str, "Rule | Shape"] = field(default_factory=dict)
    extra: Callable[[Any], str | None] | None = None
    rules: Mapping[str, "Rule | Shape"] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rules", {**self.required, **self.optional})

    def ok(self, value: Any) -> bool:
        """Whether a value is such a record."""
        return self.fault(value, "") is None

    def fault(self, value: Any, path: str) -> str | None:
        """What is wrong with a value, in words; None when nothing is."""
        if type(value) is not dict:
            return f"`{path}` is {one_line(repr(value)[:80])}, and must be a record"
        rules = self.rules
        for key, item in value.items():
            rule = rules.get(key)
            if rule is None:
                return f"`{at(path, one_line(key, 40))}` is no field that this version of evolve knows"
            if not rule.ok(item):
                return rule.fault(item, at(path, key))
        if not self.required.keys() <= value.keys():
            return f"it lacks '{at(path, next(key for key in self.required if key not in value))}'"
        found = None if self.extra is None else self.extra(value)
        return None if found is None else (f"`{path}`: {found}" if path else found)


def at(path: str, key: str) -> str:
    """The path of a key below another."""
    return f"{path}.{key}" if path else key


# -- rules ---------------------------------------------------------------------------------------------------------


def whole(most: int = MAX_NUMBER, least: int = 0) -> Rule:
    """A whole number from `least` to `most`."""
    return Rule(lambda v: type(v) is int and least <= v <= most, f"a whole number from {least} to {most}")


def number(least: float = -FARTHEST, most: float = FARTHEST, must: str = "a finite number") -> Rule:
    """A finite number within those ends."""
    return Rule(lambda v: (type(v) is float or type(v) is int) and least <= v <= most, must)


def text(most: int = MAX_TEXT) -> Rule:
    """A text of at most so many characters."""
    return Rule(lambda v: type(v) is str and len(v) <= most, f"a text of at most {most} characters")


def like(pattern: str, must: str) -> Rule:
    """A text that all of a regular expression matches."""
    match = re.compile(pattern).fullmatch
    return Rule(lambda v: type(v) is str and match(v) is not None, must)


def one_of(values: Iterable[str]) -> Rule:
    """One of these texts."""
    known = frozenset(map(str, values))
    return Rule(lambda v: type(v) is str and v in known, f"one of {', '.join(sorted(known))}")


def or_null(rule: "Rule") -> Rule:
    """What keeps the rule, or null."""
    ok = rule.ok
    return Rule(lambda v: v is None or ok(v), f"{rule.must}, or null")


def list_of(rule: "Rule | Shape", must: str, most: int = MAX_ITEMS) -> Rule:
    """A list of at most so many that keep the rule."""
    ok = rule.ok
    return Rule(lambda v: type(v) is list and len(v) <= most and all(map(ok, v)), f"a list of {must}")


def map_of(rule: Rule, must: str, most: int = 1000) -> Rule:
    """A mapping of at most so many short keys to what keeps the rule."""
    ok = rule.ok
    return Rule(
        lambda v: type(v) is dict and len(v) <= most and all(len(k) <= 200 and ok(x) for k, x in v.items()),
        f"{must} by name",
    )
