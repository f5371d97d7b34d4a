"""Somebody else's configuration, read key by key, so that what nobody asked for can be told."""

import math
from collections.abc import Mapping
from typing import Any

from evaluator.untrusted import one_line
from evolve.errors import InputError


class TheirDocument:
    """Nested mappings whose keys are taken one by one. `origin` is what messages call it."""

    def __init__(self, document: Mapping[str, Any], origin: str) -> None:
        self._document = document
        self._origin = origin
        self._taken: set[str] = set()

    def text(self, key: str) -> str | None:
        """The text at a dotted key, None where there is none. Raises InputError where something else stands."""
        found = self._take(key)
        if found is not None and not isinstance(found, str):
            raise self.wrong(key, found, "a text")
        return found

    def number(self, key: str, *, least: float = 0.0) -> float | None:
        """The number above `least` at a dotted key, None where there is none. Raises InputError."""
        found = self._take(key)
        if found is None:
            return None
        if isinstance(found, bool) or not isinstance(found, int | float) or not least < found < math.inf:
            raise self.wrong(key, found, f"a number above {least:g}")
        return found

    def whole(self, key: str, *, least: int = 1) -> int | None:
        """The whole number at a dotted key, None where there is none. Raises InputError."""
        found = self._take(key)
        if found is not None and (isinstance(found, bool) or not isinstance(found, int) or found < least):
            raise self.wrong(key, found, f"a whole number from {least}")
        return found

    def flag(self, key: str, default: bool) -> bool:
        """True or false at a dotted key, `default` where there is none. Raises InputError."""
        found = self._take(key)
        if found is not None and not isinstance(found, bool):
            raise self.wrong(key, found, "true or false")
        return default if found is None else found

    def listed(self, key: str) -> list[Any] | None:
        """The list at a dotted key, None where there is none. Raises InputError."""
        found = self._take(key)
        if found is not None and not isinstance(found, list):
            raise self.wrong(key, found, "a list")
        return found

    def names(self, key: str) -> list[str]:
        """The texts at a dotted key, where one may stand by itself; none where there is nothing. Raises InputError."""
        found = self._take(key)
        listed = [] if found is None else found if isinstance(found, list) else [found]
        if not all(isinstance(name, str) and name for name in listed):
            raise self.wrong(key, found, "a list of texts")
        return listed

    def mapping(self, key: str) -> dict[str, Any]:
        """The mapping of names to plain values at a dotted key, an empty one where there is none. Raises InputError."""
        found = self._take(key)
        if found is not None and (not isinstance(found, dict) or not _is_plain(found)):
            raise self.wrong(key, found, "a mapping of names to plain values")
        return found or {}

    def anything(self, key: str) -> Any:
        """What stands at a dotted key, None where there is nothing."""
        return self._take(key)

    def wrong(self, key: str, value: object, wanted: str) -> InputError:
        """The error that says what must stand at a key."""
        return InputError(f"{self._origin}: {key} must be {wanted}, not {one_line(repr(value), 80)}")

    def rest(self) -> dict[str, list[str]]:
        """The keys that have a value and were not taken, by their section ("" for those on top)."""
        found: dict[str, list[str]] = {}
        for key, value in self._document.items():
            left = [] if key in self._taken else self._left(key, value, whole=False)
            if left:
                found.setdefault(key if isinstance(value, dict) else "", []).extend(left)
        return found

    def _left(self, key: str, value: object, *, whole: bool) -> list[str]:
        """What was not taken at a dotted key and below it; a section of which nothing was is named as a `whole`."""
        if value is None or key in self._taken:
            return []
        if not isinstance(value, dict) or (whole and not any(taken.startswith(f"{key}.") for taken in self._taken)):
            return [key]
        return [left for name, inner in value.items() for left in self._left(f"{key}.{name}", inner, whole=True)]

    def _take(self, key: str) -> Any:
        self._taken.add(key)
        found: Any = self._document
        *sections, last = key.split(".")
        for number, section in enumerate(sections):
            found = found.get(section)
            if found is None:
                return None
            if not isinstance(found, dict):
                raise self.wrong(".".join(sections[: number + 1]), found, "a section with keys")
        return found.get(last)


def _is_plain(value: object) -> bool:
    """Whether a value can be written down as it is: texts, finite numbers, true, false, nothing, and lists of these."""
    if isinstance(value, dict):
        return all(isinstance(name, str) and _is_plain(inner) for name, inner in value.items())
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))
