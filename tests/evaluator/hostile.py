"""The hostile programs of tests/attacks: read, filled in, and run as real candidates.

A program's first lines say what it tries (`#`), which outcomes are right (`expect`), which layers stop it (`stopped
by`; `-` when it is the protocol, the limits or the judge), how it shows that it got through when that is not by
raising Breach (`through`), and what it needs to make sense (`needs`). A program with `attack()` is an honest one that
attacks on its first instance and raises Breach when that worked.
"""

import os
import platform
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import evaluator
from evaluator.evaluation import Evaluation, Outcome
from evaluator.sandbox import bubblewrap, seccomp
from evaluator.sandbox.layers import OF_CANDIDATE
from evaluator.sandbox.options import IMPORTABLE, Confinement, SandboxOptions
from evaluator.task import Limits

FOLDER = Path(__file__).parent.parent / "attacks"
HONEST = "def smallest(items):\n    return items.index(min(items))\n"
SECRET = "sk-attack-3f9c0d"
# Modules that attacks need, so that it is the kernel that stops them and not the import.
MODULES = ("ctypes", "gc", "importlib.machinery", "mmap", "socket", "subprocess", "threading")

_PREAMBLE = "class Breach(BaseException):\n    pass\n\n"
_HONEST_BUT_ONCE = """

_done = []

def smallest(items):
    if not _done:
        _done.append(1)
        try:
            got = attack()
        except (OSError, RuntimeError, ImportError, MemoryError, ValueError, AttributeError):
            got = None
        if got:
            raise Breach(str(got)[:200])
    return items.index(min(items))
"""


class AttackLimits(Limits):
    """Short wall limits, since some attacks are there to use them up."""

    @property
    def wall_per_instance_s(self) -> float:
        return 1.0

    @property
    def wall_total_s(self) -> float:
        return 5.0


LIMITS = AttackLimits(cpu_per_instance_s=0.25, cpu_total_s=1.0, memory_mb=512)


@dataclass(frozen=True)
class Attack:
    name: str
    text: str
    expected: frozenset[Outcome]
    stopped_by: tuple[str, ...]
    through: str
    needs: str

    def missing(self) -> str | None:
        """Why it makes no sense here; None when it does."""
        return {
            "": None,
            "root": None if os.getuid() == 0 else "it needs a harness that is root",
            "unprivileged": None if os.getuid() else "root's candidates may not signal others anyway",
            "proc": None if Path("/proc/self/environ").exists() else "there is no /proc",
            "x86_64": None if platform.machine() == "x86_64" else "x32 is an ABI of x86-64",
            "libanl": None if any(Path(d, "libanl.so.1").exists() for d in _LIBRARY_FOLDERS) else "there is no libanl",
        }[self.needs]

    def got_through(self, evaluation: Evaluation) -> bool:
        if self.through:
            return evaluation.outcome is Outcome(self.through)
        return any("Breach" in result.detail for result in evaluation.results)


_LIBRARY_FOLDERS = ("/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/lib64", "/usr/lib")


def attacks() -> list[Attack]:
    return [_read(path) for path in sorted(FOLDER.glob("*.py"))]


def _read(path: Path) -> Attack:
    text = path.read_text()
    header: dict[str, str] = {}
    for line in text.splitlines()[1:]:
        if not line.startswith("# "):
            break
        key, _, value = line[2:].partition(": ")
        header[key] = value
    expected = {Outcome(name) for name in header["expect"].split("|")}
    if Outcome.CPU_LIMIT in expected:
        expected.add(Outcome.TIMEOUT)  # on a machine too busy to give it the CPU time that it is allowed
    stopped_by = () if header["stopped by"] == "-" else tuple(header["stopped by"].split(", "))
    return Attack(
        name=path.stem,
        text=text,
        expected=frozenset(expected),
        stopped_by=stopped_by,
        through=header.get("through", ""),
        needs=header.get("needs", ""),
    )


class Range:
    """What attacks aim at: a folder that everybody may write, a file in it, listeners, a key in the environment."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="evolve-range-"))
        self.folder.chmod(0o777)
        self.reset()
        self.tcp = socket.create_server(("127.0.0.1", 0))
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", 0))
        self.abstract = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.abstract_name = f"evolve-range-{os.getpid()}-{self.udp.getsockname()[1]}"
        self.abstract.bind("\0" + self.abstract_name)
        for listener in (self.tcp, self.udp, self.abstract):
            listener.setblocking(False)
        # /proc shows the environment that a process was started with, so that the key needs one of its own.
        self.keeper = subprocess.Popen(["sleep", "600"], env={"EVOLVE_ATTACK_SECRET": SECRET})

    def reset(self) -> None:
        for path in self.folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        canary = self.folder / "canary"
        canary.write_text("the canary sings")
        canary.chmod(0o666)
        if os.getuid() == 0:
            os.chown(canary, 0, 0)

    def fill_in(self, attack: Attack) -> str:
        text = attack.text
        for name, value in (
            ("@DIR@", str(self.folder)),
            ("@ROOT@", str(Path(evaluator.__file__).parent.parent)),
            ("@SECRET@", SECRET),
            ("@TCP@", str(self.tcp.getsockname()[1])),
            ("@UDP@", str(self.udp.getsockname()[1])),
            ("@ABSTRACT@", self.abstract_name),
        ):
            text = text.replace(name, value)
        while "@NR:" in text:
            name = text.partition("@NR:")[2].partition("@")[0]
            text = text.replace(f"@NR:{name}@", str(seccomp.number_of(name, platform.machine())))
        return _PREAMBLE + text + (_HONEST_BUT_ONCE if "\ndef attack()" in text else "")

    def untouched(self) -> bool:
        """Whether nothing arrived, and the folder is as it was."""
        for listener in (self.tcp, self.udp, self.abstract):
            try:
                listener.accept() if listener is self.tcp else listener.recv(100)
            except BlockingIOError:
                continue
            return False
        canary = self.folder / "canary"
        return (
            [path.name for path in self.folder.iterdir()] == ["canary"]
            and canary.read_text() == "the canary sings"
            and canary.stat().st_mode & 0o777 == 0o666
        )

    def drain(self) -> None:
        while not self.untouched():
            self.reset()

    def close(self) -> None:
        for listener in (self.tcp, self.udp, self.abstract):
            listener.close()
        self.keeper.kill()
        self.keeper.wait()
        shutil.rmtree(self.folder)


@contextmanager
def shooting_range() -> Iterator[Range]:
    os.environ["EVOLVE_ATTACK_SECRET"] = SECRET
    place = Range()
    try:
        yield place
    finally:
        del os.environ["EVOLVE_ATTACK_SECRET"]
        place.close()


def confinement(level: str, *, without: tuple[str, ...] = ()) -> SandboxOptions:
    """The confinement of a level, with the attackers' modules, and without some of its layers."""
    confinement = Confinement(
        layers=tuple(layer for layer in OF_CANDIDATE if layer not in without),
        bubblewrap=bubblewrap.find() if level == "strong" else None,
        importable=(*IMPORTABLE, *MODULES),
    )
    return SandboxOptions(confinement=confinement)
