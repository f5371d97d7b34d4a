"""A model that is a command: the prompt on its stdin, the answer on its stdout. Coding agents and tools propose so.

Each call is a process in a group of its own, which is ended whole: when the command ends (what it left running), at
`timeout_s`, when it has written more than an answer may hold, and when the run ends. A child that leaves the group by
`setsid` is its own affair. The command has the user's environment without the key variables of other models, and what
it says never holds a key.
"""

import contextlib
import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import IO, Final

from evaluator.untrusted import one_line
from evolve.core.completion import (
    ANSWER_LIMIT,
    CallEvent,
    CallFailed,
    CallPhase,
    Completion,
    FailureReason,
    Message,
    Observer,
    OutputLengthEstimator,
    RequestKey,
    estimate_tokens,
)
from evolve.core.config import ModelConfig
from evolve.core.secrecy import secret_variables
from evolve.core.usage import Usage
from evolve.propose.endpoint import SHORTEST_SECRET, read_secrets
from evolve.propose.retry import PASSING, Failure, RetryPolicy

_POLL_S: Final = 0.05
_READ_S: Final = 2.0  # what is left in a pipe once every writer is gone
_MOST_BYTES: Final = 4 * ANSWER_LIMIT  # no character has more
_ERRORS_KEPT: Final = 64 * 1024

_ADVICE: Final[Mapping[FailureReason, str]] = {
    "timeout": "raise the model's timeout_s, or use a faster one",
    "not_found": "name a program that is there and may be run as the first item of the model's `command`",
    "server_error": "run the command by hand with a prompt on its stdin",
    "cancelled": "the run is ending",
}


class CommandLLM:
    """One command. Thread-safe. `keys` are the variables of every model's key; those of other models are not in its
    environment. Their values are struck from what the command says, and those of every variable named like a secret.

    `stopping` ends calls under way with CallFailed `cancelled`. Raises MachineError when its own key is not set.
    """

    def __init__(
        self,
        settings: ModelConfig,
        *,
        stopping: threading.Event,
        keys: Collection[str] = (),
        seed: int = 0,
        retry: RetryPolicy | None = None,
        usual: OutputLengthEstimator | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self.name = settings.shown_name
        self.settings = settings
        own = read_secrets(settings, environ)  # that its own key is there
        assert settings.command is not None
        self._command = list(settings.command)
        self._stopping = stopping
        self._seed = seed
        self._retry = retry or RetryPolicy()
        self._usual = usual or OutputLengthEstimator(settings.max_tokens)
        other_keys = set(keys) - {settings.api_key_env}
        self._environment = {name: value for name, value in environ.items() if name not in other_keys}
        named = {*keys, settings.api_key_env, *secret_variables(environ)} - {None}
        values = {environ.get(name or "", "").strip() for name in named}
        secrets = sorted((value for value in values if len(value) >= SHORTEST_SECRET), key=len, reverse=True)
        self._secrets = replace(own, values=tuple(secrets))

    def __repr__(self) -> str:
        return f"CommandLLM({self.name!r})"

    def estimate_usd(self, tokens_in: int) -> float:
        """See LLM.estimate_usd; 0 for a model without prices."""
        return self.settings.cost(tokens_in, self._usual.tokens()) or 0.0

    def complete(self, messages: Sequence[Message], *, key: RequestKey, observe: Observer) -> Completion:
        """See LLM.complete. A call that fails is repeated as one to an endpoint is, but for a command that is not
        there."""
        prompt = "\n\n".join(message.content for message in messages)
        tokens_in = estimate_tokens(prompt)
        tell = partial(CallEvent, model=self.settings.model)
        for call in range(self._retry.tries):
            if self._stopping.is_set():
                raise CallFailed("cancelled", f"model {self.name!r}: not asked, since the run is ending")
            expected = self._usage(tokens_in, self._usual.tokens())
            phase, limit_s = CallPhase.CALLING, self.settings.timeout_s
            observe(tell(call=call, phase=phase, status=phase, usage=expected, limit_s=limit_s))
            began = time.monotonic()
            result = self._call(prompt)
            latency = time.monotonic() - began
            if isinstance(result, str):
                completion = self._completion(result, tokens_in, latency)
                message = "a command states no usage, so tokens and cost are estimates"
                self._usual.note(completion.usage.tokens_out)
                phase, status, usage = CallPhase.ANSWERED, completion.finish_reason, completion.usage
                observe(tell(call=call, phase=phase, status=status, usage=usage, message=message))
                return completion
            last = call + 1 == self._retry.tries or result.reason not in PASSING
            rng = random.Random(f"{self._seed}:{key}:{call}:wait")
            wait_s = None if last else self._retry.wait_s(call, retry_after_s=None, rng=rng)
            sent = result.reason != "not_found"
            usage = self._usage(tokens_in, self._usual.tokens(), latency) if sent else Usage()
            counted = "; what it took is not known, so what was kept for it counts as spent" if sent else ""
            observe(
                tell(
                    call=call,
                    phase=CallPhase.FAILED,
                    status=result.reason,
                    usage=usage,
                    message=result.message + counted,
                    again_in_s=wait_s,
                    tries=(call + 1, self._retry.tries),
                )
            )
            if wait_s is None:
                after = f" (after {call + 1} attempts)" if call else ""
                text = f"model {self.name!r}: {result.message}{after}; {_ADVICE[result.reason]}"
                raise CallFailed(result.reason, text)
            self._stopping.wait(wait_s)
        raise AssertionError("unreachable: the last attempt returns or raises")

    # -- one call -----------------------------------------------------------------------------------------------

    def _call(self, prompt: str) -> str | Failure:
        """What the command writes, or how it failed."""
        deadline = time.monotonic() + self.settings.timeout_s
        try:
            process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=self._environment,
                start_new_session=True,
            )
        except (OSError, ValueError) as cause:
            why = cause.strerror if isinstance(cause, OSError) else str(cause)
            return Failure(reason="not_found", message=self._shown(f"{self._command[0]} cannot be run ({why})"))
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        answer, errors = _PipeReader(process.stdout, most=_MOST_BYTES), _PipeReader(process.stderr, last=_ERRORS_KEPT)
        _in_thread(_write, process.stdin, prompt.encode("utf-8", "replace"))
        try:
            fault = self._wait(process, answer, deadline)
        finally:
            _end(process)
        answer.finish()
        errors.finish()
        if fault is not None:
            return fault
        if process.returncode != 0 and not answer.full:
            how = f"exit code {process.returncode}"
            if process.returncode < 0:
                how = f"ended by signal {-process.returncode}"
            lines = errors.text().strip().splitlines()
            last = f": {lines[-1].strip()}" if lines else ", and nothing on stderr"
            message = self._shown(f"the command failed, {how}{last}")
            return Failure(reason="server_error", message=message)
        return answer.text()

    def _wait(self, process: subprocess.Popen[bytes], answer: "_PipeReader", deadline: float) -> Failure | None:
        """Wait for the command's end, or until there is no use in waiting. It is not reaped yet: its group is still its
        own."""
        while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            if answer.full:
                return None
            if self._stopping.is_set():
                return Failure(reason="cancelled", message="ended, since the run is ending")
            if time.monotonic() >= deadline:
                limit = f"{self.settings.timeout_s:g} s"
                return Failure(reason="timeout", message=f"the command did not end within {limit}")
            answer.over.wait(min(_POLL_S, max(0.0, deadline - time.monotonic())))
            if answer.over.is_set():
                time.sleep(_POLL_S / 10)  # it closed its stdout, and goes on for a moment
        return None

    def _completion(self, text: str, tokens_in: int, latency: float) -> Completion:
        whole = self._secrets.struck(text)
        usage = self._usage(tokens_in, estimate_tokens(text), latency)
        if len(whole) > ANSWER_LIMIT:
            return Completion(text=whole[:ANSWER_LIMIT], finish_reason="oversize", usage=usage)
        return Completion(text=whole, finish_reason="stop" if whole.strip() else "empty", usage=usage)

    def _usage(self, tokens_in: int, tokens_out: int, latency_s: float = 0.0) -> Usage:
        cost = self.settings.cost(tokens_in, tokens_out)
        return Usage(tokens_in=tokens_in, tokens_out=tokens_out, cost_usd=cost, latency_s=latency_s, estimated=True)

    def _shown(self, text: str) -> str:
        return one_line(self._secrets.struck(text), 600)


class _PipeReader:
    """Reads a pipe in a thread of its own: all of it up to `most` bytes (`full` says that there was more), or the
    `last` ones. `over` is set at its end."""

    def __init__(self, pipe: IO[bytes], *, most: int | None = None, last: int | None = None) -> None:
        self.over = threading.Event()
        self.full = False
        self._pipe, self._most, self._last = pipe, most, last
        self._data = bytearray()
        self._thread = _in_thread(self._read)

    def _read(self) -> None:
        try:
            while chunk := os.read(self._pipe.fileno(), 65536):
                if self._most is not None and len(self._data) > self._most:
                    self.full = True
                    return
                self._data += chunk
                if self._last is not None:
                    del self._data[: -self._last]
        finally:
            self.over.set()

    def finish(self) -> None:
        """Wait for the rest; somebody who left the group may hold the pipe open, and is not waited for."""
        self._thread.join(_READ_S)
        if not self._thread.is_alive():
            self._pipe.close()

    def text(self) -> str:
        """What was read. Bytes that are no UTF-8 are replaced."""
        return bytes(self._data).decode("utf-8", "replace")


def _in_thread(call: "object", *given: object) -> threading.Thread:
    thread = threading.Thread(target=call, args=given, name="command", daemon=True)  # type: ignore[arg-type]
    thread.start()
    return thread


def _write(pipe: IO[bytes], data: bytes) -> None:
    """A command may end, or close its stdin, without having read all of it."""
    with contextlib.suppress(BrokenPipeError), pipe:
        pipe.write(data)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the whole group. The command itself is reaped only then, so that the number is still that group's."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
