"""Tests by real attacks, layer by layer, how candidates and scripts are confined on this machine: for `evolve doctor`.

Attempts run as real candidates of a real worker, and as real commands of a script, under one layer alone, so that
nothing else can stop them. A layer is `ok` if it stops attempts that succeed without it.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from evaluator.check import Check, Finding
from evaluator.errors import SandboxError
from evaluator.evaluation import Outcome
from evaluator.sandbox import bubblewrap, landlock, layers, protocol
from evaluator.sandbox.exchange import Exchange
from evaluator.sandbox.levels import NO_BUBBLEWRAP, refuse_other_systems
from evaluator.sandbox.options import IMPORTABLE, Confinement
from evaluator.sandbox.supervisor import Candidate
from evaluator.sandbox.tree import TreeJob, TreeSandbox, establish_tree
from evaluator.sandbox.turns import Cancellation
from evaluator.sandbox.worker import Worker, WorkerSettings
from evaluator.task import Limits

FAIRNESS: Final = "fairness"
"""The check, of no layer, whether a program pays for a busy machine."""
SCRIPTS: Final = "scripts"
"""The first word of the checks of scripts."""
_MEMORY_MB: Final = 512
_SETTINGS: Final = WorkerSettings(
    entry_point="attempts", adapter_source="", packages=(), memory_mb=_MEMORY_MB, cpu_total_s=5.0
)
_LIMITS: Final = Limits(cpu_per_instance_s=5.0, cpu_total_s=5.0, memory_mb=_MEMORY_MB)
_TREE_LIMITS: Final = Limits(cpu_per_instance_s=20, cpu_total_s=20, wall_s=60, memory_mb=_MEMORY_MB, scratch_mb=1)
_IMPORTABLE: Final = (*IMPORTABLE, "ctypes", "socket")

_UNSHARE: Final = ("forbidden system calls", "libc.unshare(0) == 0")
_Attempts = Sequence[tuple[str, str]]
"""Each attempt's name, and an expression that is true where nothing confines it; where it is stopped, it is false or
raises OSError or MemoryError."""
_FILES: Final = ("files", "os.listdir('/')")
_ROOT: Final = ("root's privileges", "os.chroot('/') is None")
_OF_CANDIDATE: Final[dict[str, _Attempts]] = {
    layers.LIMITS: [("memory", f"bytes({2 * _MEMORY_MB << 20})")],
    layers.PRIVILEGES: [_ROOT],
    layers.LANDLOCK: [_FILES],
    layers.SECCOMP: [
        _FILES,
        ("network", "socket.socket()"),
        ("processes", "os.fork() or os._exit(0)"),
        ("sleeping", "time.sleep(0.001) is None"),
        ("native code", "ctypes.CFUNCTYPE(None)(print)"),
    ],
    layers.BUBBLEWRAP: [("processes of the host", "os.stat('/proc/self')")],
}
_OF_SCRIPT: Final[dict[str, _Attempts]] = {
    layers.LIMITS: [("memory", f"mmap.mmap(-1, {2 * _MEMORY_MB << 20}, flags=mmap.MAP_PRIVATE | mmap.MAP_ANON)")],
    layers.PRIVILEGES: [_ROOT],
    layers.LANDLOCK: [_FILES, ("processes of the user", "os.kill(os.getppid(), 0) is None")],
    layers.SECCOMP: [
        ("network", "socket.socket()"),
        ("namespaces", _UNSHARE[1]),
        ("memory that belongs to no file", "os.memfd_create('attempt')"),
    ],
    layers.BUBBLEWRAP: [
        ("files of the host", f"os.path.exists({str(Path(__file__).resolve().parent.parent / 'task.py')!r})"),
        ("processes of the host", "os.getpid() > 9"),
        ("/proc", "os.listdir('/proc')"),
    ],
}
_SOURCE: Final = """
import ctypes, os, socket, time
libc = ctypes.CDLL(None)

def attempt(act):
    try:
        return bool(eval(act))
    except (OSError, MemoryError):
        return False

def attempts(acts):
    return [attempt(act) for act in acts]
"""
_SCRIPT: Final = (
    _SOURCE
    + """
import mmap, sys
print(*map(int, attempts(sys.argv[1:])))
"""
)
_FIXES: Final = {
    layers.LIMITS: "raise the hard limits of the shell that starts evolve (ulimit -H -a)",
    layers.PRIVILEGES: "run evolve as an ordinary user, or give its container CAP_SETUID and CAP_SETGID",
    layers.LANDLOCK: "a kernel from 5.13 on, with landlock in its lsm= list",
    layers.SECCOMP: "a kernel with CONFIG_SECCOMP_FILTER on x86-64 or aarch64 (gVisor and old containers have none)",
    layers.BUBBLEWRAP: "install bubblewrap (Debian and Ubuntu: apt-get install bubblewrap) and allow user namespaces",
}


def probe_candidates() -> list[Check]:
    """Every layer around a candidate, by real attacks. Raises SandboxError when no worker runs at all."""
    refuse_other_systems()
    Worker(_SETTINGS, Confinement(layers=())).close()
    needed = {layer: layer not in (layers.LANDLOCK, layers.BUBBLEWRAP) for layer in _OF_CANDIDATE}
    return [*(_check(layer, _attack_as_candidate, needed=needed[layer]) for layer in needed), _fairness()]


def probe_scripts() -> list[Check]:
    """The level of scripts, then every layer around a script, by real attacks."""
    try:
        level = establish_tree().level
    except SandboxError as cause:
        fix = "install bubblewrap, or follow the message; else score only programs whose origin you trust"
        first = Check(SCRIPTS, Finding.ABSENT, str(cause), fix, needed=False)
    else:
        detail = f"level {level}: a script and whatever it starts is confined"
        first = Check(SCRIPTS, Finding.OK, detail, needed=False)
    return [first, *(_check(layer, _attack_as_script, of=f"{SCRIPTS}: ", needed=False) for layer in _OF_SCRIPT)]


def _check(layer: str, attack: Callable[[str, Confinement], list[str]], *, needed: bool, of: str = "") -> Check:
    """The check of a layer. `attack` returns the attempts that succeed in a confinement."""
    fix = _FIXES[layer]
    program = bubblewrap.find() if layer == layers.BUBBLEWRAP else None
    if program is None and (layer == layers.BUBBLEWRAP or (layer == layers.LANDLOCK and not landlock.version())):
        detail = NO_BUBBLEWRAP if layer == layers.BUBBLEWRAP else "this kernel has no Landlock, or it is switched off"
        return Check(f"{of}{layer}", Finding.ABSENT, detail, fix, needed=needed)
    alone = Confinement(layers=() if program else (layer,), bubblewrap=program, importable=_IMPORTABLE)
    state = Finding.BROKEN
    try:
        before, after = attack(layer, replace(alone, layers=(), bubblewrap=None)), attack(layer, alone)
        if after:
            detail = f"it is on, but does not block: {', '.join(after)}"
        else:
            state, fix = Finding.OK, ""
            detail = f"tested: it blocks {', '.join(before)}" if before else "no privileges to drop"
    except SandboxError as cause:
        detail = str(cause)
    return Check(f"{of}{layer}", state, detail, fix, needed=needed)


def _fairness() -> Check:
    """Whether time waiting for a core can be measured, and so a waiting program distinguished from a sleeping one."""
    worker = Worker(_SETTINGS, Confinement())
    detail = "time spent waiting for a CPU core cannot be measured here, and counts as the program's own wall time"
    fix = "a kernel with CONFIG_SCHED_INFO and /proc without hidepid; else use fewer workers than there are cores"
    try:
        with Candidate(worker, _LIMITS) as candidate:
            if candidate.waiting_is_measured:
                detail = "time spent waiting for a CPU core is measured and not charged"
                return Check(FAIRNESS, Finding.OK, detail, needed=False)
    except SandboxError as cause:
        detail, fix = f"not tested: {cause}", ""
    finally:
        worker.close()
    return Check(FAIRNESS, Finding.ABSENT, detail, fix, needed=False)


def _attack_as_candidate(layer: str, confinement: Confinement) -> list[str]:
    """The attempts that succeed as a candidate. A worker inside bubblewrap tests further ones when it starts."""
    worker = Worker(_SETTINGS, confinement)
    attempts = _OF_CANDIDATE[layer]
    try:
        with Candidate(worker, _LIMITS) as candidate:
            exchange = _attempted(candidate, attempts)
        if exchange.failure is not None or not isinstance(exchange.answer, list):
            why = exchange.detail if exchange.fault is None else exchange.fault.text
            raise SandboxError(f"the program with the attempts ended as {exchange.failure}: {why}")
        passed = [what for (what, _), passed in zip(attempts, exchange.answer, strict=True) if passed]
        if layer == layers.BUBBLEWRAP and confinement.bubblewrap is None:
            return ["files of the host", "its network", "its processes", "writing to the root"]
        if layer != layers.SECCOMP:
            return passed
        with Candidate(worker, _LIMITS) as candidate:  # the kernel ends the whole process for this one
            ended = _attempted(candidate, [_UNSHARE]).failure
        return passed if ended is Outcome.FORBIDDEN else [*passed, _UNSHARE[0]]
    finally:
        worker.close()


def _attempted(candidate: Candidate, attempts: _Attempts) -> Exchange:
    exchange = candidate.load(_SOURCE, 0)
    if exchange.failure is not None:
        return exchange
    return candidate.ask(protocol.instance_fields(0, {"acts": [act for _, act in attempts]}))


def _attack_as_script(layer: str, confinement: Confinement) -> list[str]:
    """The attempts that succeed as a script."""
    attempts = _OF_SCRIPT[layer]
    argv = (sys.executable, "{scratch}/attempts.py", *(attempt for _, attempt in attempts))
    job = TreeJob(argv=argv, files={"attempts.py": _SCRIPT.encode()}, result="")
    ending = TreeSandbox(confinement).run(job, _TREE_LIMITS, Cancellation())
    printed = ending.output.split()
    if len(printed) != len(attempts):
        raise SandboxError(f"the attempts ended as {ending.outcome}: {ending.detail} {ending.output}")
    return [what for (what, _), passed in zip(attempts, printed, strict=True) if passed == "1"]
