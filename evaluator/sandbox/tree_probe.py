"""What confines a script and whatever it starts on this machine, layer by layer, found by attacking: for `evolve
doctor`.

Real commands run under the one layer in question. A layer is `ok` only when an attempt was stopped by it that gets
through without it.
"""

import sys
from pathlib import Path
from typing import Final

from evaluator.errors import SandboxError
from evaluator.sandbox import bubblewrap, layers, tree_confine
from evaluator.sandbox.cancellation import Cancellation
from evaluator.sandbox.levels import NO_BUBBLEWRAP
from evaluator.sandbox.probe import ABSENT, BROKEN, FIXES, OK, LayerState
from evaluator.sandbox.tree import TreeJob, TreeLimits, TreeSandbox, establish_tree

NAME: Final = "scripts"
"""What the lines of this probe begin with."""
_LIMITS: Final = TreeLimits(cpu_s=20, wall_s=60, memory_mb=256, scratch_mb=1)
# By layer: what an attempt stands for, and an expression that raises OSError or MemoryError, or is false, once it is
# stopped.
_ATTEMPTS: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    layers.LIMITS: (
        ("memory", f"mmap.mmap(-1, {2 * _LIMITS.memory_mb << 20}, flags=mmap.MAP_PRIVATE | mmap.MAP_ANON)"),
    ),
    layers.PRIVILEGES: (("the powers of root", "os.chroot('/') is None"),),
    layers.LANDLOCK: (
        ("files", "os.listdir('/')"),
        ("processes of the user", "os.kill(os.getppid(), 0) is None"),
    ),
    layers.SECCOMP: (
        ("network", "socket.socket()"),
        ("namespaces", "libc.unshare(0) == 0"),
        ("memory of nobody", "os.memfd_create('canary')"),
    ),
    layers.BUBBLEWRAP: (
        ("files of the host", f"os.path.exists({str(Path(__file__).resolve().parent.parent / 'task.py')!r})"),
        ("processes of the host", "os.getpid() > 9"),
        ("/proc", "os.listdir('/proc')"),
    ),
}
_SCRIPT: Final = """
import ctypes, mmap, os, socket, sys
libc = ctypes.CDLL(None)
for attempt in sys.argv[1:]:
    try:
        print(int(bool(eval(attempt))))
    except (OSError, MemoryError):
        print(0)
"""


def probe_tree() -> list[LayerState]:
    """The level that scripts reach, then the state of every layer, by real attacks."""
    try:
        level = establish_tree(require_level=None, unsafe=False).level
    except SandboxError as cause:
        fix = "install bubblewrap, or do what the message says; else score only programs whose origin you trust"
        found = [LayerState(layer=NAME, state=ABSENT, reason=str(cause), fix=fix)]
    else:
        found = [LayerState(layer=NAME, state=OK, reason=f"level {level}: a script and whatever it starts is confined")]
    return [*found, *(_state(layer) for layer in (*layers.OF_CANDIDATE, layers.BUBBLEWRAP))]


def _state(layer: str) -> LayerState:
    name = f"{NAME}: {layer}"
    program = bubblewrap.find() if layer == layers.BUBBLEWRAP else None
    if layer == layers.BUBBLEWRAP and program is None:
        return LayerState(layer=name, state=ABSENT, reason=NO_BUBBLEWRAP, fix=FIXES[layer])
    if layer == layers.LANDLOCK and not tree_confine.known_landlock():
        return LayerState(layer=name, state=ABSENT, reason="this kernel has none, or has it off", fix=FIXES[layer])
    attempts = _ATTEMPTS[layer]
    try:
        before = _through(TreeSandbox(level=layers.NONE, layers=()), attempts)
        active = () if program is not None else (layer,)
        after = _through(TreeSandbox(level=layers.NONE, layers=active, program=program), attempts)
    except SandboxError as cause:
        return LayerState(layer=name, state=BROKEN, reason=str(cause), fix=FIXES[layer])
    if after:
        reason = f"it is on, and yet an attempt got through: {', '.join(after)}"
        return LayerState(layer=name, state=BROKEN, reason=reason, fix=FIXES[layer])
    if not before:
        return LayerState(layer=name, state=OK, reason="nothing to take away: the attempts fail without it too")
    return LayerState(layer=name, state=OK, reason=f"seen to stop: {', '.join(before)}")


def _through(sandbox: TreeSandbox, attempts: tuple[tuple[str, str], ...]) -> list[str]:
    """What the attempts that got through stand for. Raises SandboxError."""
    argv = (sys.executable, "{scratch}/attempts.py", *(attempt for _, attempt in attempts))
    job = TreeJob(argv=argv, files={"attempts.py": _SCRIPT.encode()}, result="")
    ending = sandbox.run(job, _LIMITS, Cancellation())
    said = ending.output.split()
    if len(said) != len(attempts):
        raise SandboxError(f"the attempts ended as {ending.outcome}: {ending.detail} {ending.output}")
    return [what for (what, _), passed in zip(attempts, said, strict=True) if passed == "1"]
