"""The sandbox level of this machine, found by confining a real process and never by versions.

The strongest level is tried first. Nothing is remembered: a failure while the machine was busy or short of memory may
be over for the next evaluator.
"""

import platform
import sys
from collections.abc import Callable
from typing import Final, TypeVar

from evaluator.errors import SandboxError
from evaluator.sandbox import bubblewrap, packages
from evaluator.sandbox.layers import LEVELS, LIMITS, NONE, PRIVILEGES
from evaluator.sandbox.options import Confinement, SandboxOptions
from evaluator.sandbox.supervisor import Candidate
from evaluator.sandbox.turns import Cancellation
from evaluator.sandbox.worker import Worker, WorkerSettings
from evaluator.task import Limits

NO_BUBBLEWRAP: Final = "bubblewrap is not installed (on Debian and Ubuntu: apt-get install bubblewrap)"
_PATIENT: Final = Limits(cpu_per_instance_s=10, cpu_total_s=10, memory_mb=0)
_Found = TypeVar("_Found")


def establish(
    settings: WorkerSettings, wanted: SandboxOptions, cancellation: Cancellation
) -> tuple[Worker, Confinement]:
    """A first worker in the strongest confinement that works here and is `wanted`. Raises SandboxError, which says what
    is missing and how to get it."""
    refuse_other_systems()
    packages.path(settings.packages)  # a missing package must not look like a failed confinement
    return strongest(wanted, _options, lambda option: (_verified(settings, option, cancellation), option), "candidates")


def strongest(
    wanted: SandboxOptions,
    options: Callable[[list[str]], list[Confinement]],
    attempt: Callable[[Confinement], _Found],
    what: str,
) -> _Found:
    """What `attempt` returns for the strongest option that it does not refuse. `options` gets a list for the reasons
    why stronger ones are missing; `what` is to be confined. Raises SandboxError."""
    refuse_other_systems()
    required, exactly, reasons = wanted.require_level, wanted.confinement, list[str]()
    if required is not None and required not in LEVELS:
        raise SandboxError(f"there is no sandbox level {required!r}; there are: {', '.join(LEVELS)}")
    for option in options(reasons) if exactly is None else [exactly]:
        if required is not None and LEVELS.index(option.level) < LEVELS.index(required):
            break
        if option.level == NONE and not wanted.unsafe and exactly is None:
            break
        try:
            return attempt(option)
        except SandboxError as cause:
            reasons.append(str(cause))
    because = "; ".join(reasons) or "no reason is known"
    if required is not None:
        raise SandboxError(f"sandbox level {required} is required, and this machine does not reach it: {because}")
    raise SandboxError(
        f"{what} cannot be confined on this machine ({because}): only programs that you trust may run here, "
        "and only with --unsafe-no-sandbox"
    )


def _options(reasons: list[str]) -> list[Confinement]:
    """The options, strongest first; why the strongest is missing goes to `reasons`."""
    program = bubblewrap.find()
    if program is None:
        reasons.append(NO_BUBBLEWRAP)
    around = [] if program is None else [Confinement(bubblewrap=program)]
    return [*around, Confinement(), Confinement(layers=(LIMITS, PRIVILEGES)), Confinement(layers=(LIMITS,))]


def _verified(settings: WorkerSettings, option: Confinement, cancellation: Cancellation) -> Worker:
    """A worker, after one of its processes has confined itself. Raises SandboxError."""
    worker = Worker(settings, option, cancellation)
    try:
        with Candidate(worker, _PATIENT):
            return worker
    except BaseException:  # boundary: no worker is left behind
        worker.close()
        raise


def refuse_other_systems() -> None:
    """Raises SandboxError on every system but Linux, and says where to run instead."""
    here: str = sys.platform  # as text: to the type checker, which runs on Linux, the rest cannot be reached
    if here == "linux":
        return
    system = {"darwin": "macOS", "win32": "Windows"}.get(here, platform.system())
    way = "in WSL2" if here == "win32" else "in a Linux container or virtual machine"
    raise SandboxError(f"candidates can be confined on Linux only, and this is {system}: run evolve {way}")
