"""A harness with something to lose, which runs probe.py in the sandbox: `range.py LEVEL`. Prints JSON: what got through,
how it ended, and whether what it aimed at is as it was. A process of its own, so that it can be of another user."""
import json
import os
import shutil
import socket
import sys
import tempfile
from pathlib import Path

from evaluator.sandbox import tree
from evaluator.sandbox.turns import Cancellation
from evaluator.sandbox.tree import TreeJob, TreeSandbox
from evaluator.task import Limits

LIMITS = Limits(cpu_per_instance_s=20, cpu_total_s=20, wall_s=60, memory_mb=512, scratch_mb=64)


def main():
    level = sys.argv[1]
    base = Path(tempfile.mkdtemp(prefix="evolve-tree-range-"))
    shared = Path("/dev/shm", f"{base.name}-other")
    try:
        home, other, readable = base / "home", base / f"{base.name}-other", base / "task"
        prefix, device = (sys.prefix, os.devnull) if level != "none" else (str(base / "prefix"), str(base / "device"))
        for folder in (home, other, readable, base / "prefix"):
            folder.mkdir()
        for file in (home / "secret", other / "canary", other / "victim", readable / "file", base / "device", shared):
            file.write_text("the canary sings")
            file.chmod(0o644)
        tcp, udp = socket.create_server(("127.0.0.1", 0)), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.bind(("127.0.0.1", 0))
        abstract, pathname = (socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(2))
        abstract.bind(f"\0{base.name}")
        pathname.bind(str(other / "socket"))
        os.environ["EVOLVE_PROBE_SECRET"] = "sk-tree"
        environment = {
            "PROBE_HOME": str(home), "PROBE_OTHER": str(other), "PROBE_READABLE": str(readable),
            "PROBE_TCP": str(tcp.getsockname()[1]), "PROBE_UDP": str(udp.getsockname()[1]),
            "PROBE_HARNESS": str(os.getpid()), "PROBE_ABSTRACT": base.name, "PROBE_PATHNAME": str(other / "socket"),
            "PROBE_LEVEL": level, "PROBE_PREFIX": prefix, "PROBE_DEVICE": device,
        }
        job = TreeJob(
            argv=(sys.executable, "{scratch}/probe.py", "{scratch}/found.json"),
            files={"probe.py": Path(__file__).with_name("probe.py").read_bytes()},
            result="found.json", readable=(readable,), environment=environment,
        )
        before = state(base)
        sandbox = TreeSandbox(next(found for found in tree._options([]) if found.level == level))
        ending = sandbox.run(job, LIMITS, Cancellation())
        arrived = []
        for name, listener in (("tcp", tcp), ("udp", udp), ("abstract", abstract), ("pathname", pathname)):
            listener.setblocking(False)
            try:
                arrived.append(name) if (listener.accept() if listener is tcp else listener.recv(100)) else None
            except BlockingIOError:
                pass
        print(json.dumps({
            "uid": os.getuid(), "outcome": ending.outcome.value, "detail": ending.detail, "output": ending.output,
            "found": json.loads(ending.result or b"{}"), "arrived": arrived, "untouched": state(base) == before,
        }))
    finally:
        shutil.rmtree(base)
        shared.unlink()


def state(base):
    """Names, contents, modes, owners and times (but of reading)."""
    found = {}
    for path in sorted(base.rglob("*")):
        about = path.lstat()
        found[str(path)] = [about.st_mode, about.st_uid, about.st_mtime_ns, about.st_ctime_ns, about.st_size]
    return found


if __name__ == "__main__":
    main()
