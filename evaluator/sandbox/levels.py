"""Which level this machine reaches: found by confining a process for real, and never by versions.

The strongest comes first. Nothing is remembered: what failed because the machine was busy, or short of memory for a
moment, may hold when the next evaluator is opened.
"""

import platform
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final, Protocol, TypeVar

from evaluator.errors import SandboxError
from evaluator.sandbox import bubblewrap, packages
from evaluator.sandbox.cancellation import Cancellation
from evaluator.sandbox.layers import LEVELS, LIMITS, NONE, PRIVILEGES
from evaluator.sandbox.options import Confinement, SandboxOptions
from evaluator.sandbox.supervisor import Candidate
from evaluator.sandbox.worker import Worker, WorkerDiedError, WorkerSettings
from evaluator.task import Limits

NO_BUBBLEWRAP: Final = "bubblewrap is not installed (on Debian and Ubuntu: apt-get install bubblewrap)"
_PATIENT: Final = Limits(cpu_per_instance_s=10, cpu_total_s=10, memory_mb=0)


class _Levelled(Protocol):
    @property
    def level(self) -> str: ...


_Option = TypeVar("_Option", bound=_Levelled)
_Found = TypeVar("_Found")


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedConfinement:
    """A confinement that was seen to hold, and the layers that each candidate must put on."""

    confinement: Confinement
    layers: tuple[str, ...]


def establish(
    settings: WorkerSettings, wanted: SandboxOptions, *, cancellation: Cancellation | None = None
) -> tuple[VerifiedConfinement, Worker]:
    """The strongest confinement that holds here and is `wanted`, with a first worker in it.

    Raises SandboxError, which says what is missing and how to get it.
    """
    check_level(wanted.require_level)
    packages.path(settings.packages)  # one that is not installed is no matter of confinement
    reasons: list[str] = []
    return strongest(
        _options(reasons) if wanted.confinement is None else [wanted.confinement],
        lambda option: _verify(settings, option, cancellation),
        what="candidates",
        reasons=reasons,
        require_level=wanted.require_level,
        unsafe=wanted.unsafe or wanted.confinement is not None,
    )


def check_level(require_level: str | None) -> None:
    """Raises SandboxError on anything but Linux, and where there is no level of that name."""
    refuse_other_systems()
    if require_level is not None and require_level not in LEVELS:
        raise SandboxError(f"there is no sandbox level {require_level!r}; there are: {', '.join(LEVELS)}")


def strongest(
    options: Iterable[_Option],
    tried: Callable[[_Option], _Found],
    *,
    what: str,
    reasons: list[str],
    require_level: str | None,
    unsafe: bool,
) -> _Found:
    """What `tried` makes of the first of the options, strongest first, that it does not refuse. `what` would be
    confined; `reasons` why stronger ones are not among the options. Raises SandboxError, which says what is missing."""
    for option in options:
        if require_level is not None and LEVELS.index(option.level) < LEVELS.index(require_level):
            break
        if option.level == NONE and not unsafe:
            break
        try:
            return tried(option)
        except (SandboxError, WorkerDiedError) as cause:
            reasons.append(str(cause))
    because = "; ".join(reasons) or "no reason is known"
    if require_level is not None:
        raise SandboxError(f"sandbox level {require_level} is required, and this machine does not reach it: {because}")
    raise SandboxError(
        f"{what} cannot be confined on this machine ({because}): only programs that you trust may run here, "
        "and only with --unsafe-no-sandbox"
    )


def _options(reasons: list[str]) -> list[Confinement]:
    """Strongest first; why there is none of the strongest goes to `reasons`."""
    program = bubblewrap.find()
    if program is None:
        reasons.append(NO_BUBBLEWRAP)
    around = [] if program is None else [Confinement(bubblewrap=program)]
    return [*around, Confinement(), Confinement(layers=(LIMITS, PRIVILEGES)), Confinement(layers=(LIMITS,))]


def _verify(
    settings: WorkerSettings, option: Confinement, cancellation: Cancellation | None
) -> tuple[VerifiedConfinement, Worker]:
    """Start a worker, and let one process confine itself. Raises SandboxError, WorkerDiedError."""
    worker = Worker(settings, option, cancellation)
    worker.ready()
    try:
        with Candidate(worker, _PATIENT) as candidate:
            layers = candidate.layers
    except BaseException:  # boundary: no worker is left behind
        worker.close()
        raise
    if replace(option, layers=layers).level != option.level:
        worker.close()
        raise SandboxError(f"of the layers {', '.join(option.layers)} only {', '.join(layers)} took hold")
    worker.expected = layers
    return VerifiedConfinement(confinement=option, layers=layers), worker


def refuse_other_systems() -> None:
    """Raises SandboxError on anything but Linux, saying where to run instead."""
    here: str = sys.platform  # as text: to the type checker, which runs on Linux, the rest cannot be reached
    if here == "linux":
        return
    system = {"darwin": "macOS", "win32": "Windows"}.get(here, platform.system())
    way = "in WSL2" if here == "win32" else "in a Linux container or virtual machine"
    raise SandboxError(f"candidates can be confined on Linux only, and this is {system}: run evolve {way}")
