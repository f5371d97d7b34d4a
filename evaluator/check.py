"""One thing that `evolve doctor` tried: of this machine, of a model, of a task."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from enum import StrEnum
from typing import Any


class Finding(StrEnum):
    """What a check found."""

    OK = "ok"
    ABSENT = "absent"  # not there; not an error of what is there
    BROKEN = "broken"  # there, and does not do what it should


@dataclass(frozen=True, slots=True)
class Check:
    """What a check found, and why. `fix` says what to do unless it is ok; `needed` whether evolve works without it, and
    `settings` what to write into the configuration, if anything."""

    name: str
    state: Finding
    detail: str
    fix: str = ""
    _: KW_ONLY
    needed: bool = True
    settings: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The keys of one check in `evolve doctor --json`."""
        settings = {"settings": dict(self.settings)} if self.settings else {}
        return {name: getattr(self, name) for name in ("name", "state", "detail", "fix", "needed")} | settings
