"""The candidate's side: one forked process that confines itself, reads one program, and answers one request at a time.

This runs in the candidate's own process and is no boundary: a program that patches it only forges its own answer, which
the harness judges like any other.
"""

import gc
import json
import os
import random
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final, NoReturn

from evaluator.sandbox import faults, jail, protocol, seccomp

CONFINE_FAILED: Final = 96
"""The exit status of a process that could not confine itself."""

# Bound here, so that a program which patches the modules by accident does not break its own answers.
_read, _write, _exit = os.read, os.write, os._exit
_loads: Final = json.loads

Adapt = Callable[[Any], Any]
"""The function of an adapter: `prepare(instance) -> (arguments, encode)`; for a task that asks item by item
`begin(first) -> prepare`, and `prepare(item) -> (arguments, encode)` for each item of one instance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What a worker prepares once and every candidate inherits."""

    settings: Mapping[str, Any]  # the first frame from the harness
    adapt: Adapt | None
    hidden: frozenset[str]  # modules of this package, which a candidate does not see
    policy: seccomp.Filter | None


class UnfitError(Exception):
    """Raised for a program that loads but cannot be called; its message is shown without a type."""


class Refuser:
    """The only import finder of a candidate: it refuses every module that is not loaded."""

    def __init__(self, importable: Sequence[str]) -> None:
        self._available = ", ".join(importable)

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Raises ModuleNotFoundError with the list of available modules."""
        raise ModuleNotFoundError(
            f"import {name} is not available in the sandbox; available: {self._available}", name=name
        )


def run(setup: Setup, *, request: int, reply: int, null: int, parent: int) -> NoReturn:
    """Be a candidate, from the fork to the end of the process."""
    settings = setup.settings
    try:
        jail.settle(request=request, reply=reply, null=null)
        jail.confine(
            settings["layers"],
            setup.policy,
            parent=parent,
            memory_mb=settings["memory_mb"],
            cpu_total_s=settings["cpu_total_s"],
        )
    except Exception as cause:  # noqa: BLE001 - boundary: whatever went wrong, the source must not be read
        _write_all(jail.REPLY, protocol.error("", "load", "", str(cause)))
        _exit(CONFINE_FAILED)
    sys.meta_path[:] = [Refuser(settings["available"])]
    sys.path[:] = []
    sys.argv[:] = [""]
    for name in setup.hidden:
        sys.modules.pop(name, None)
    _write_all(jail.REPLY, protocol.answer("", settings["layers"]))
    order = _read_request()
    entry: Any = None
    nonce = order["nonce"]
    try:
        _seed(order["seed"])
        entry = _load(order["source"], settings["entry_point"])
    except BaseException as cause:  # noqa: BLE001 - boundary: the candidate's own code may raise anything
        _write_all(jail.REPLY, _fault(nonce, "load", cause))
        _exit(0)
    del order
    _write_all(jail.REPLY, protocol.answer(nonce, None))
    calls = _Caller(setup, entry)
    while True:
        _write_all(jail.REPLY, _answer(calls, _read_request()))


class _Caller:
    """Turns requests into calls of the entry point. An adapter's state between items ends with their instance."""

    def __init__(self, setup: Setup, entry: Any) -> None:
        self._adapt = setup.adapt
        self._prepare = setup.adapt  # for an instance as a whole, or for the items of the current one
        self.entry = entry
        self.longest = protocol.frame_cap(setup.settings["answer_bytes"]) + protocol.HEADER

    def prepared(self, order: Mapping[str, Any]) -> tuple[Sequence[Any], Mapping[str, Any], Any]:
        """(positional arguments, named arguments, encoder of the result); the encoder is None where there is none."""
        if "next" in order:
            asked = order["next"]
        else:
            _seed(order["seed"])
            if "first" in order:
                asked = order["first"]
                self._prepare = None if self._adapt is None else _checked(self._adapt(asked))
            else:
                asked = order["instance"]
        if self._prepare is None:
            return ((), asked, None) if type(asked) is dict else ((asked,), {}, None)
        arguments, encode = self._prepare(asked)
        if not callable(encode):
            raise TypeError("prepare() must return the arguments and a function that encodes what is returned")
        return tuple(arguments), {}, encode


def _checked(prepare: Any) -> Any:
    if not callable(prepare):
        raise TypeError("begin() must return a function that prepares the arguments for each item")
    return prepare


def _answer(calls: _Caller, order: Mapping[str, Any]) -> bytes:
    """The reply to one request: an answer or an error."""
    nonce, kind = order["nonce"], "adapter"
    if "end" in order:
        return protocol.answer(nonce, None)
    try:
        arguments, named, encode = calls.prepared(order)
        kind = "call"
        result = calls.entry(*arguments, **named)
        kind = "answer"
        reply = protocol.answer(nonce, result if encode is None else encode(result))
        if len(reply) > calls.longest:
            size = len(reply) - protocol.HEADER
            reply = protocol.error(nonce, "output", "", f"the answer is {size} bytes long")
    except BaseException as cause:  # noqa: BLE001 - boundary: the candidate's own code may raise anything
        return _fault(nonce, kind, cause)
    return reply


def _load(source: str, entry_point: str) -> Any:
    module = ModuleType("candidate")
    sys.modules["candidate"] = module  # where dataclasses and typing look a class's module up
    code = compile(source, faults.SOURCE_NAME, "exec", dont_inherit=True)
    exec(code, module.__dict__)
    entry = module.__dict__.get(entry_point)
    if entry is None:
        raise UnfitError(f"the program does not define {entry_point}()")
    if not callable(entry):
        raise UnfitError(f"{entry_point} is not callable: it is of type {faults.type_name(entry)}")
    return entry


def _seed(seed: int) -> None:
    random.seed(seed)
    numpy_random: Any = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed(seed)


def _fault(nonce: str, kind: str, cause: BaseException) -> bytes:
    if isinstance(cause, MemoryError):
        # The program's frames hold memory: release them before anything is built.
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


def load_adapter(source: str, function: str) -> Adapt | None:
    """The `function` in an adapter's source; None without a source. Raises what the adapter raises, and UnfitError
    without that function."""
    if not source:
        return None
    adapter = types.ModuleType("adapter")
    sys.modules["adapter"] = adapter
    exec(compile(source, faults.ADAPTER_NAME, "exec", dont_inherit=True), adapter.__dict__)
    adapt: Adapt | None = adapter.__dict__.get(function)
    if not callable(adapt):
        raise UnfitError(f"does not define {function}()")
    return adapt
