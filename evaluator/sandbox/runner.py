"""The candidate's side: one forked process that confines itself, reads one program, and answers one request at a time.

It runs in the candidate's own process, so that nothing here is a boundary: a program may patch or replace any of it and
will only have forged its own answer, which the harness judges like every other.
"""

import gc
import json
import os
import random
import sys
import types
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final, NoReturn

from evaluator.sandbox import faults, jail, protocol

CONFINE_FAILED: Final = 96
"""The exit status of a process that could not confine itself."""

# Bound here, so that a program which patches the modules by accident does not break its own answers.
_read, _write, _exit = os.read, os.write, os._exit
_loads: Final = json.loads


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What a worker prepares once and every candidate of it inherits."""

    entry_point: str
    prepare: Callable[[Any], tuple[Sequence[Any], Callable[[Any], Any]]] | None
    importable: tuple[str, ...]
    hidden: frozenset[str]  # modules of the machinery, which a candidate does not see
    memory_mb: int
    cpu_total_s: float
    answer_bytes: int
    jail: jail.Jail


class UnfitError(Exception):
    """Raised for a program that loads but is not one: our own words, shown without a type."""


class Refuser:
    """The only import finder of a candidate: what is not loaded yet is not available."""

    def __init__(self, importable: Sequence[str]) -> None:
        self._available = ", ".join(importable)

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Refuse. Raises ModuleNotFoundError with the list of what there is."""
        raise ModuleNotFoundError(
            f"import {name} is not available in the sandbox; available: {self._available}", name=name
        )


def run(setup: Setup, *, request: int, reply: int, null: int, parent: int, layers: Collection[str]) -> NoReturn:
    """Be a candidate, from the fork to the end of the process."""
    try:
        jail.settle(request=request, reply=reply, null=null)
        active = jail.confine(
            setup.jail, layers, parent=parent, memory_mb=setup.memory_mb, cpu_total_s=setup.cpu_total_s
        )
    except Exception as cause:  # noqa: BLE001 - boundary: whatever went wrong, the source must not be read
        _write_all(jail.REPLY, protocol.framed(json.dumps({"confine": str(cause)}).encode()))
        _exit(CONFINE_FAILED)
    sys.meta_path[:] = [Refuser(setup.importable)]
    sys.path[:] = []
    sys.argv[:] = [""]
    for name in setup.hidden:
        sys.modules.pop(name, None)
    _write_all(jail.REPLY, protocol.ready(active))
    order = _read_request()
    entry: Any = None
    nonce = order["nonce"]
    try:
        _seed(order["seed"])
        entry = _load(order["source"], setup.entry_point)
    except BaseException as cause:  # noqa: BLE001 - boundary: the candidate's own code may raise anything
        _write_all(jail.REPLY, _fault(nonce, "load", cause))
        _exit(0)
    del order
    _write_all(jail.REPLY, protocol.answer(nonce, None))
    while True:
        _write_all(jail.REPLY, _answer(setup, entry, _read_request()))


def _answer(setup: Setup, entry: Any, order: Mapping[str, Any]) -> bytes:
    """The reply to one request: an answer, or the story of what went wrong."""
    nonce, kind = order["nonce"], "adapter"
    try:
        _seed(order["seed"])
        instance = order["instance"]
        if setup.prepare is None:
            kind = "call"
            encoded = entry(**instance) if type(instance) is dict else entry(instance)
        else:
            arguments, encode = _prepared(setup.prepare, instance)
            kind = "call"
            result = entry(*arguments)
            kind = "answer"
            encoded = encode(result)
        kind = "answer"
        reply = protocol.answer(nonce, encoded)
        if len(reply) > protocol.frame_cap(setup.answer_bytes) + protocol.HEADER:
            size = len(reply) - protocol.HEADER
            reply = protocol.error(nonce, "output", "", f"the answer is {size} bytes long")
    except BaseException as cause:  # noqa: BLE001 - boundary: the candidate's own code may raise anything
        return _fault(nonce, kind, cause)
    return reply


def _prepared(prepare: Any, instance: Any) -> tuple[tuple[Any, ...], Any]:
    arguments, encode = prepare(instance)
    if not callable(encode):
        raise TypeError("prepare() must return the arguments and a function that encodes what is returned")
    return tuple(arguments), encode


def _load(source: str, entry_point: str) -> Any:
    module = ModuleType("candidate")
    sys.modules["candidate"] = module  # where dataclasses and typing look a class's module up
    code = compile(source, faults.SOURCE_NAME, "exec", dont_inherit=True)
    exec(code, module.__dict__)
    entry = module.__dict__.get(entry_point)
    if entry is None:
        raise UnfitError(f"the program does not define {entry_point}()")
    if not callable(entry):
        raise UnfitError(f"{entry_point} is not callable: it is of type {faults.type_name_of(type(entry))}")
    return entry


def _seed(seed: int) -> None:
    random.seed(seed)
    numpy_random: Any = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed(seed)


def _fault(nonce: str, kind: str, cause: BaseException) -> bytes:
    if isinstance(cause, MemoryError):
        # What the program holds keeps memory short: let go of its frames before anything is built.
        lines = faults.lines(cause)
        cause.__traceback__ = None
        del cause
        gc.collect()
        return protocol.error(nonce, "memory", "MemoryError", "", lines)
    name = "" if type(cause) is UnfitError else faults.type_name(cause)
    lines = faults.lines(cause, faults.ADAPTER_NAME if kind == "adapter" else faults.SOURCE_NAME)
    return protocol.error(nonce, kind, name, faults.message(cause), lines)


def _read_request() -> dict[str, Any]:
    header = _read_exactly(protocol.HEADER)
    order: dict[str, Any] = _loads(_read_exactly(int.from_bytes(header, "big")))
    return order


def _read_exactly(size: int) -> bytes:
    chunks: list[bytes] = []
    while size:
        chunk = _read(jail.REQUEST, min(size, 1 << 16))
        if not chunk:
            _exit(0)  # the harness has gone
        chunks.append(chunk)
        size -= len(chunk)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[_write(fd, view) :]


def load_adapter(source: str) -> Callable[[Any], tuple[Sequence[Any], Callable[[Any], Any]]] | None:
    """The `prepare` function of an adapter's source; None without one. Raises what the adapter raises, and
    UnfitError when it defines no such function."""
    if not source:
        return None
    adapter = types.ModuleType("adapter")
    sys.modules["adapter"] = adapter
    exec(compile(source, faults.ADAPTER_NAME, "exec", dont_inherit=True), adapter.__dict__)
    prepare: Callable[[Any], tuple[Sequence[Any], Callable[[Any], Any]]] | None = adapter.__dict__.get("prepare")
    if not callable(prepare):
        raise UnfitError("does not define prepare()")
    return prepare
