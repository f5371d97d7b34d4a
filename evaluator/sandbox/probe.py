"""What confines a candidate on this machine, layer by layer, found by attacking: for `evolve doctor`.

Canary programs run as real candidates of a real worker, under the one layer in question, so that nothing else can be
what stops them. A layer is `ok` only when a canary was stopped by it, and when the same canary got through without it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from evaluator.errors import SandboxError
from evaluator.evaluation import Outcome
from evaluator.sandbox import bubblewrap, layers, protocol
from evaluator.sandbox.levels import refuse_other_systems
from evaluator.sandbox.supervisor import Candidate
from evaluator.sandbox.worker import IMPORTABLE, Confinement, Worker, WorkerDiedError, WorkerSettings
from evaluator.task import Limits

OK: Final = "ok"
ABSENT: Final = "absent"
BROKEN: Final = "broken"

FAIRNESS: Final = "fairness"
"""No layer: whether a busy machine is held against a program."""

_MEMORY_MB: Final = 512
_SETTINGS: Final = WorkerSettings(
    entry_point="canary", adapter_source="", packages=(), memory_mb=_MEMORY_MB, cpu_total_s=5.0
)
_LIMITS: Final = Limits(cpu_per_instance_s=5.0, cpu_total_s=5.0, memory_mb=_MEMORY_MB)
_IMPORTABLE: Final = (*IMPORTABLE, "ctypes", "socket")

# Each canary is an expression that succeeds where nothing confines it, with what it stands for.
_FILES: Final = ("files", "os.close(os.open('/', os.O_RDONLY))")
_CANARIES: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    layers.LIMITS: (("memory", f"bytes({2 * _MEMORY_MB << 20})"),),
    layers.PRIVILEGES: (("the powers of root", "os.chroot('/')"),),
    layers.LANDLOCK: (_FILES,),
    layers.SECCOMP: (
        _FILES,
        ("network", "socket.socket().close()"),
        ("processes", "os.fork() or os._exit(0)"),
        ("sleeping", "time.sleep(0.001)"),
        ("native code", "ctypes.CFUNCTYPE(None)(print)"),
    ),
    layers.BUBBLEWRAP: (("processes of the host", "os.stat('/proc/self')"),),
}
_SOURCE: Final = """
import ctypes, os, socket, time

def attempt(act):
    try:
        eval(act)
    except (OSError, MemoryError):
        return False
    return True

def canary(acts):
    return [attempt(act) for act in acts]
"""
_FORBIDDEN: Final = """
import ctypes

def canary(acts):
    ctypes.CDLL(None).unshare(0)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerState:
    """One layer: `ok`, `absent` or `broken`; why, and what to do about it (empty when there is nothing to do)."""

    layer: str
    state: str
    reason: str
    fix: str = ""


def probe() -> list[LayerState]:
    """Every layer's state, by real attacks. Raises SandboxError when no worker runs at all."""
    refuse_other_systems()
    found: list[LayerState] = []
    worker = _started(Confinement(layers=(), importable=_IMPORTABLE))
    try:
        for layer in layers.OF_CANDIDATE:
            found.append(_of_candidate(worker, layer))  # noqa: PERF401 - each is an experiment
    finally:
        worker.close()
    found.append(_around_worker())
    found.append(_fairness())
    return found


def _fairness() -> LayerState:
    """Whether a program that waits for a core can be told from one that sleeps."""
    worker = _started(Confinement())
    try:
        with Candidate(worker, _LIMITS) as candidate:
            if candidate.waiting_is_measured:
                return LayerState(layer=FAIRNESS, state=OK, reason="what a program waits for a core is known, and free")
    except WorkerDiedError as cause:
        return LayerState(layer=FAIRNESS, state=ABSENT, reason=f"not known: {cause}")
    finally:
        worker.close()
    return LayerState(
        layer=FAIRNESS,
        state=ABSENT,
        reason="what a program waits for a core is not known here, and counts as its own wall time",
        fix="a kernel with CONFIG_SCHED_INFO and /proc without hidepid; else use fewer workers than there are cores",
    )


def _of_candidate(worker: Worker, layer: str) -> LayerState:
    canaries = _CANARIES[layer]
    try:
        _, open_ones = _attack(worker, (), canaries)
        active, stopped_ones = _attack(worker, (layer,), canaries)
        if layer not in active:
            return LayerState(
                layer=layer,
                state=ABSENT,
                reason="this kernel has none, or has it switched off",
                fix=FIXES[layer],
            )
        through = [what for (what, _), passed in zip(canaries, stopped_ones, strict=True) if passed]
        blunt = [what for (what, _), passed in zip(canaries, open_ones, strict=True) if not passed]
        if through:
            return _broken(layer, f"it is on, and yet a canary got through: {', '.join(through)}")
        if layer == layers.SECCOMP and (outcome := _killed_for_unshare(worker)) is not Outcome.FORBIDDEN:
            return _broken(layer, f"a forbidden system call ended as {outcome}, and not with the end of the process")
    except WorkerDiedError as cause:
        return _broken(layer, str(cause))
    names = ", ".join(what for what, _ in canaries if what not in blunt)
    if not names:
        return LayerState(layer=layer, state=OK, reason="nothing to take away: the canaries fail without it too")
    return LayerState(layer=layer, state=OK, reason=f"seen to stop: {names}")


def _around_worker() -> LayerState:
    program = bubblewrap.find()
    if program is None:
        return LayerState(
            layer=layers.BUBBLEWRAP, state=ABSENT, reason="it is not installed", fix=FIXES[layers.BUBBLEWRAP]
        )
    try:
        worker = _started(Confinement(layers=(), bubblewrap=program, importable=_IMPORTABLE))
    except SandboxError as cause:
        return _broken(layers.BUBBLEWRAP, str(cause))
    try:
        # That the worker sees no file, no network and no process of the host was checked while it started.
        _, passed = _attack(worker, (), _CANARIES[layers.BUBBLEWRAP])
    except WorkerDiedError as cause:
        return _broken(layers.BUBBLEWRAP, str(cause))
    finally:
        worker.close()
    if passed[0]:
        return _broken(layers.BUBBLEWRAP, "it is on, and yet /proc can be seen")
    return LayerState(
        layer=layers.BUBBLEWRAP,
        state=OK,
        reason="seen to stop: files of the host, its network, its processes, writing to the root",
    )


def _started(confinement: Confinement) -> Worker:
    worker = Worker(_SETTINGS, confinement)
    worker.ready()
    return worker


def _attack(
    worker: Worker, active: tuple[str, ...], canaries: Sequence[tuple[str, str]]
) -> tuple[tuple[str, ...], list[bool]]:
    """The layers that took hold, and for each canary whether it got through. Raises WorkerDiedError."""
    worker.layers = active
    with Candidate(worker, _LIMITS) as candidate:
        exchange = candidate.load(_SOURCE, 0)
        if exchange.failure is None:
            exchange = candidate.ask(protocol.instance_fields(0, {"acts": [act for _, act in canaries]}))
        if exchange.failure is not None or not isinstance(exchange.answer, list):
            said = exchange.detail if exchange.fault is None else f"{exchange.fault.type}: {exchange.fault.message}"
            raise WorkerDiedError(f"the canary program ended as {exchange.failure}: {said}")
        return candidate.layers, [bool(passed) for passed in exchange.answer]


def _killed_for_unshare(worker: Worker) -> Outcome | None:
    worker.layers = (layers.SECCOMP,)
    with Candidate(worker, _LIMITS) as candidate:
        exchange = candidate.load(_FORBIDDEN, 0)
        return exchange.failure or candidate.ask(protocol.instance_fields(0, {"acts": []})).failure


def _broken(layer: str, reason: str) -> LayerState:
    return LayerState(layer=layer, state=BROKEN, reason=reason, fix=FIXES[layer])


FIXES: Final = {
    layers.LIMITS: "raise the hard limits of the shell that starts evolve (ulimit -H -a)",
    layers.PRIVILEGES: "run evolve as an ordinary user, or give its container CAP_SETUID and CAP_SETGID",
    layers.LANDLOCK: "a kernel from 5.13 on, with landlock in its lsm= list",
    layers.SECCOMP: "a kernel with CONFIG_SECCOMP_FILTER on x86-64 or aarch64 (gVisor and old containers have none)",
    layers.BUBBLEWRAP: "install bubblewrap (Debian and Ubuntu: apt-get install bubblewrap) and allow user namespaces",
}
