"""One check of `evolve doctor`: of this machine, of a model, of a task."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from enum import StrEnum
from typing import Any


class Finding(StrEnum):
    """The state that a check found."""

    OK = "ok"
    ABSENT = "absent"  # not there
    BROKEN = "broken"  # there, and does not work


@dataclass(frozen=True, slots=True)
class Check:
    """The result of a check. `fix` says what to do unless it is ok; `needed` whether evolve needs it to be ok;
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
