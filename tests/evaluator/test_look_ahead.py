"""A program that is asked item by item finds nothing of items to come, and speaks only when it is asked."""

from collections.abc import Iterator
from fractions import Fraction

import pytest
from hostile import confinement

from evaluator.evaluation import Evaluation, Outcome
from evaluator.evaluator import SandboxedEvaluator
from evaluator.sandbox import bubblewrap
from evaluator.task import Instance, Limits, Suite, Task
from evaluator.task_files import load_task

ONLINE = "tests/data/online"
SMALL = 10
MARK = 777_000
"""Sizes above it come after the first `SMALL` items: what an attack on an earlier item must not find."""
SIZES = [*range(1, SMALL + 1), *(MARK + number for number in range(1, 21))]
CAPACITY = 1_000_000
LIMITS = Limits(cpu_per_instance_s=5, cpu_total_s=20, memory_mb=512)

# `item` counts the items; `attack` is called on the one that a test names, and raises Breach when it finds something.
PROGRAM = """
import gc, os, sys, json, time
import ctypes
libc = ctypes.CDLL(None)

class Breach(BaseException):
    pass

MARK = str({mark})[:4]
seen = [0]

{attack}

def choose_bin(size, room, capacity):
    seen[0] += 1
    if seen[0] == {when}:
        try:
            got = attack()
        except (OSError, RuntimeError, ImportError, MemoryError, ValueError, AttributeError):
            got = None
        if got:
            raise Breach(str(got)[:100])
    return next((i for i, left in enumerate(room) if left >= size), len(room))
"""

FIND = """
def shows(value, depth=3):
    if type(value) in (int, str, bytes, bytearray, memoryview):
        text = bytes(value).decode("latin-1") if type(value) not in (int, str) else str(value)
        return MARK in text and text
    if depth and type(value) in (list, tuple, dict, set):
        items = [*value, *value.values()] if type(value) is dict else list(value)
        for one in items:
            if found := shows(one, depth - 1):
                return found
    return None
"""
LOOK_AHEAD = {
    "in what the collector knows": FIND
    + """
def attack():
    mine = (shows.__code__, attack.__code__)
    for found in gc.get_objects():
        if type(found) in (list, dict, tuple, set) and (got := shows(found, 2)):
            return got
""",
    "in the frames below": FIND
    + """
def attack():
    frame = sys._getframe()
    while frame is not None:
        for name, value in list(frame.f_locals.items()):
            if got := shows(value):
                return (name, got)
        frame = frame.f_back
""",
}
FROM_OUTSIDE = {
    "in the channel": """
import select
def attack():
    ready, _, _ = select.select([3], [], [], 0)
    return ready
""",
    "in the bytes that wait": """
def attack():
    waiting = ctypes.c_int(0)
    if libc.ioctl(3, 0x541B, ctypes.byref(waiting)) == 0:
        return waiting.value
""",
    "in the channel, after a while": """
def attack():
    until = time.perf_counter() + 0.3
    while time.perf_counter() < until:
        waiting = ctypes.c_int(0)
        if libc.ioctl(3, 0x541B, ctypes.byref(waiting)) == 0 and waiting.value:
            return waiting.value
""",
    "in other descriptors": """
def attack():
    for descriptor in [0, *range(5, 300)]:
        try:
            if got := os.read(descriptor, 1 << 16):
                return got
        except OSError:
            pass
""",
    "in files": """
def attack():
    for path in ("/proc/self/mem", "/proc/self/maps", "/proc/self/fdinfo/3", "/proc/1/environ", "/proc/self/fd",
                 "{folder}/small.json", "{folder}/judge.py"):
        try:
            return path, open(path, "rb").read(100)
        except OSError:
            pass
        try:
            return os.listdir(path)
        except OSError:
            pass
""",
    "in the parent's memory": """
def attack():
    local = (ctypes.c_char * 64)()
    vector = (ctypes.c_size_t * 2)(ctypes.addressof(local), 64)
    remote = (ctypes.c_size_t * 2)(id(seen), 64)
    if libc.process_vm_readv(os.getppid(), vector, 1, remote, 1, 0) > 0:
        return bytes(local)
""",
}

# What the candidate's own side of the channel knows, taken from the frames below.
SPEAK = """
def nonce():
    frame = sys._getframe()
    while "order" not in frame.f_locals:
        frame = frame.f_back
    return frame.f_locals["order"]["nonce"]

def say(text):
    data = text.encode()
    os.write(4, len(data).to_bytes(4, "big") + data)

kept = []
"""
OUT_OF_TURN = {
    "twice": (
        "def attack():\n    say(json.dumps({'nonce': nonce(), 'answer': 0}, separators=(',', ':')))\n",
        4,
    ),
    "twice, on the last item of all": (
        "def attack():\n    say(json.dumps({'nonce': nonce(), 'answer': 0}, separators=(',', ':')))\n",
        len(SIZES),
    ),
    "under the name of an item before": (
        "asked = []\n"
        "def attack():\n    say(json.dumps({'nonce': '0' * 16, 'answer': 0}, separators=(',', ':')))\n",
        4,
    ),
    "with more behind it": (
        "def attack():\n"
        "    one = json.dumps({'nonce': nonce(), 'answer': 0}).encode()\n"
        "    os.write(4, (len(one).to_bytes(4, 'big') + one) * 2)\n",
        4,
    ),
    "with the beginning of a frame behind it": (
        "def attack():\n"
        "    one = json.dumps({'nonce': nonce(), 'answer': 0}).encode()\n"
        "    os.write(4, len(one).to_bytes(4, 'big') + one + b'\\0')\n",
        4,
    ),
    "with a reply too many kept for later": (
        "import random\n"
        "def attack():\n"
        "    for guess in range(50):\n"
        "        say(json.dumps({'nonce': '%016x' % guess, 'answer': 0}))\n",
        2,
    ),
}


@pytest.fixture(scope="module")
def task() -> Task:
    return load_task(ONLINE)


@pytest.fixture(scope="module", params=["strong", "standard"])
def evaluator(request: pytest.FixtureRequest, task: Task) -> Iterator[SandboxedEvaluator]:
    if request.param == "strong" and bubblewrap.find() is None:
        pytest.skip("bubblewrap is not installed")
    instance = Instance(index=0, data={"capacity": CAPACITY, "sizes": SIZES})
    suite = Suite(name="marked", instances=(instance,), limits=LIMITS, digest="")
    importable = confinement(request.param)
    with SandboxedEvaluator(task, suite, workers=1, confinement=_with_gc(importable)) as evaluator:
        assert evaluator.sandbox == request.param
        yield evaluator
