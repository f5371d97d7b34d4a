"""How much memory a server can make the client take. Usage: python -m tests.benchmarks.bandwidth [MEGABYTES]

A body of a gigabyte at status 500 and 200, streamed, and packed; and bodies just small enough to be read, made of what
takes the most memory once it is parsed. Each is asked for once, in a process of its own.
"""

import subprocess
import sys
import zlib
from pathlib import Path

from evolve.propose.attempt import BODY_LIMIT
from tests.openai_server import Behaviour, OpenAIServer, answer

ROOT = Path(__file__).parents[2]
MIB = 1024 * 1024
MOST = 200  # MiB
EVENT = b'data: {"choices": [{"index": 0, "delta": {"content": "word "}}]}\n\n'
TINY = b'data: {"choices":[]}\n\n'
STREAM = {"Content-Type": "text/event-stream"}
CHILD = """
import sys, time
sys.path.insert(0, sys.argv[2])
from evolve.core.completion import CallFailed, PatchKey
from evolve.propose.retry import RetryPolicy
from tests.propose.asking import ASK, client
llm = client(sys.argv[1], RetryPolicy(tries=1, patience_s=0.0), timeout_s=120.0)
llm.complete(ASK, key=PatchKey(1, 0), observe=lambda event: None)  # loads what a call needs
def peak():  # of this process alone: ru_maxrss counts what its parent had, too
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) // 1024
before, began = peak(), time.monotonic()
try:
    said = repr(llm.complete(ASK, key=PatchKey(2, 0), observe=lambda event: None))
except CallFailed as failed:
    said = str(failed)
print(peak() - before, f"{time.monotonic() - began:.1f}", said[:110])
"""


def bomb(status: int, size: int) -> Behaviour:
    """A gzip body that is decoded to `size` bytes."""
    packer = zlib.compressobj(9, wbits=zlib.MAX_WBITS | 16)
    body = b"".join([*(packer.compress(bytes(MIB)) for _ in range(size // MIB)), packer.flush()])
    return Behaviour(body=body, status=status, headers={"Content-Encoding": "gzip"})


def filled(begin: bytes, piece: bytes, end: bytes) -> bytes:
    """As many pieces as a body that is read may hold."""
    room = BODY_LIMIT - len(begin) - len(end)
    return begin + piece * (room // len(piece)) + end


def main() -> int:
    size = int(sys.argv[1]) * MIB if len(sys.argv) > 1 else 1024 * MIB
    cases = {
        "500": Behaviour(body=b"x" * 65536, status=500, flood=size),
        "429": Behaviour(body=b"x" * 65536, status=429, flood=size),
        "200": Behaviour(body=b"x" * 65536, flood=size),
        "200, a stream": Behaviour(body=EVENT * 1000, headers=STREAM, flood=size),
        "200, one event": Behaviour(body=b"data: x" * 9000, headers=STREAM, flood=size),
        "500, gzip": bomb(500, size),
        "200, gzip": bomb(200, size),
        "read: a stream": Behaviour(body=filled(b"", EVENT, b"data: [DONE]\n\n"), headers=STREAM),
        "read: tiny events": Behaviour(body=filled(b"", TINY, b"data: [DONE]\n\n"), headers=STREAM),
        "read: lists": Behaviour(body=filled(b'{"choices": [', b"[],", b"[]]}")),
        "read: objects": Behaviour(body=filled(b'{"choices": [', b'{"a":0},', b"{}]}")),
        "read: error": Behaviour(body=(b'{"error": [' + b"[]," * 340_000 + b"[]]}"), status=500),
    }
    worst = 0
    for name, behaviour in cases.items():
        with OpenAIServer([answer("hello"), behaviour]) as server:
            child = [sys.executable, "-c", CHILD, server.url, str(ROOT)]
            done = subprocess.run(child, capture_output=True, text=True, check=True)
        grown, seconds, outcome = done.stdout.strip().split(" ", 2)
        print(f"{name:20} {grown:>5} MiB {seconds:>6} s  {outcome}", flush=True)
        worst = max(worst, int(grown))
    print(f"at most {worst} MiB (goal: {MOST})")
    return worst > MOST


if __name__ == "__main__":
    sys.exit(main())
