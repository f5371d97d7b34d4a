"""A program that is asked item by item finds nothing of items to come, and speaks only when it is asked."""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hostile import confinement

from evaluator.evaluation import Evaluation, Outcome
from evaluator.evaluator import SandboxedEvaluator
from evaluator.sandbox import bubblewrap
from evaluator.sandbox.layers import SECCOMP
from evaluator.sandbox.options import SandboxOptions
from evaluator.task import Instance, Limits, Suite, Task
from evaluator.task_files import load_task
from tests.builders import one_file

ONLINE = Path(__file__).parent.parent / "data" / "online"
SMALL = 10
MARK = 777_000
"""Sizes above it come after the first `SMALL` items: what an attack on an earlier item must not find."""
SIZES = [*range(1, SMALL + 1), *(MARK + number for number in range(1, 21))]
CAPACITY = 1_000_000
LIMITS = Limits(cpu_per_instance_s=5, cpu_total_s=20, memory_mb=512)

# `item` counts the items; `attack` is called on the one that a test names, and raises Breach when it finds something.
PROGRAM = """
import gc, os, re, sys, json, time
import ctypes
libc = ctypes.CDLL(None)

class Breach(BaseException):
    pass

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
        return re.search("777(00[1-9]|01[0-9]|020)", text) and text  # and not its own text
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
"""
LATE = """
def attack():
    # From the second item on its own answer goes out under the nonce of the first.
    frame = sys._getframe()
    while "order" not in frame.f_locals:
        frame = frame.f_back
    old, protocol = nonce(), frame.f_globals["protocol"]
    honest = protocol.answer
    protocol.answer = lambda now, value: honest(old, value)
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
        "def attack():\n"
        "    for guess in range(50):\n"
        "        say(json.dumps({'nonce': '%016x' % guess, 'answer': 0}))\n",
        2,
    ),
}


@pytest.fixture(scope="module")
def task() -> Task:
    return load_task(str(ONLINE))


@contextmanager
def scoring(task: Task, confined: SandboxOptions) -> Iterator[SandboxedEvaluator]:
    instance = Instance(index=0, data={"capacity": CAPACITY, "sizes": SIZES})
    suite = Suite(name="marked", instances=(instance,), limits=LIMITS, digest="")
    assert confined.confinement is not None
    seeing = dataclasses.replace(confined.confinement, importable=(*confined.confinement.importable, "select"))
    confined = SandboxOptions(confinement=seeing)
    with SandboxedEvaluator(task, suite, workers=1, confined=confined) as evaluator:
        yield evaluator


@pytest.fixture(scope="module", params=["strong", "standard"])
def evaluator(request: pytest.FixtureRequest, task: Task) -> Iterator[SandboxedEvaluator]:
    if request.param == "strong" and bubblewrap.find() is None:
        pytest.skip("bubblewrap is not installed")
    with scoring(task, confinement(request.param)) as evaluator:
        assert evaluator.sandbox == request.param
        yield evaluator


@pytest.fixture(scope="module")
def open_handed(task: Task) -> Iterator[SandboxedEvaluator]:
    """Without the filter of system calls, so that what is not found is not there."""
    with scoring(task, confinement("standard", without=(SECCOMP,))) as evaluator:
        yield evaluator


def tried(evaluator: SandboxedEvaluator, attack: str, when: int) -> Evaluation:
    text = PROGRAM.replace("{when}", str(when)).replace("{attack}", attack)
    return evaluator.evaluate(one_file(text.replace("{folder}", str(ONLINE))))


@pytest.mark.parametrize("name", [*LOOK_AHEAD, *FROM_OUTSIDE])
def test_items_to_come_are_nowhere(evaluator: SandboxedEvaluator, name: str) -> None:
    evaluation = tried(evaluator, {**LOOK_AHEAD, **FROM_OUTSIDE}[name], SMALL // 2)
    assert evaluation.outcome in (Outcome.OK, Outcome.FORBIDDEN), evaluation.detail
    if evaluation.correct:
        assert evaluation.results[0].cost == sum(size > MARK for size in SIZES)


@pytest.mark.parametrize("name", LOOK_AHEAD)
def test_the_same_search_finds_the_item_that_is_asked(evaluator: SandboxedEvaluator, name: str) -> None:
    evaluation = tried(evaluator, LOOK_AHEAD[name], SMALL + 1)
    assert "Breach" in evaluation.detail and str(MARK + 1) in evaluation.detail


@pytest.mark.parametrize("name", ["in the channel", "in the bytes that wait", "in the channel, after a while"])
def test_nothing_waits_in_the_channel_even_where_a_program_may_look(open_handed: SandboxedEvaluator, name: str) -> None:
    evaluation = tried(open_handed, FROM_OUTSIDE[name], SMALL // 2)
    assert evaluation.outcome is Outcome.OK, evaluation.detail


@pytest.mark.parametrize("name", OUT_OF_TURN)
def test_an_answer_out_of_turn_is_refused(evaluator: SandboxedEvaluator, name: str) -> None:
    attack, when = OUT_OF_TURN[name]
    evaluation = tried(evaluator, SPEAK + attack, when)
    assert evaluation.outcome is Outcome.PROTOCOL, evaluation.detail
    assert f"item {when - 1}" in evaluation.detail or f"item {when}" in evaluation.detail


def test_an_answer_that_was_kept_answers_no_other_item(evaluator: SandboxedEvaluator) -> None:
    """It says now, under the nonce of the item before, what it is to say: late by one item."""
    evaluation = tried(evaluator, SPEAK + LATE, 1)
    assert evaluation.outcome is Outcome.PROTOCOL
    assert "does not belong to the request" in evaluation.detail and "item 1 of instance 0" in evaluation.detail
