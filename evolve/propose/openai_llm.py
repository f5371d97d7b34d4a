"""Any OpenAI-compatible endpoint as an LLM; the only importer of the `openai` package.

The SDK's own retries are off: one loop here makes the attempts, so that each is an event. An attempt runs in a
thread of its own, which makes `timeout_s` a deadline for the whole of it (the SDK's timeouts are per read, so a
server that trickles never meets them) and lets a run end without waiting for a server.
"""

import os
import random
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from evaluator.untrusted import one_line
from evolve.completion import (
    CallEvent,
    CallFailed,
    Completion,
    FailureReason,
    Message,
    ModelSettings,
    Observer,
    UsualOutput,
    estimate_tokens,
)
from evolve.propose.endpoint import check_timeout, endpoint_url, read_key
from evolve.propose.limiter import Limiter
from evolve.propose.reply import Reply, Unreadable, read_reply, stated_error
from evolve.propose.retry import RetryPolicy, Tries, reason_of_status, stated_wait, worth_retrying
from evolve.usage import Usage

BODY_LIMIT = 32 * 1024 * 1024
"""Bytes of an HTTP answer that are read; beyond them it is a bad response."""

_SHORTEST_SECRET = 8  # a shorter "key" is a placeholder such as EMPTY, and striking it would garble texts
_NO_KEY = "none"  # what the SDK is given for a server that wants no key: it refuses to send nothing
_STRUCK = "[key removed]"
_CANCEL_POLL_S = 0.05
_LIMIT_KEYS = ("max_tokens", "max_completion_tokens")
_NOT_KNOWN_WORDS = ("unsupported", "not supported", "unrecognized", "unknown", "not permitted")

_NOTHING_SENT = {"ConnectError", "ConnectTimeout", "PoolTimeout"}

_ADVICE: Mapping[FailureReason, str] = {
    "rate_limited": "lower `parallel`, or wait and resume",
    "quota": "the account has no credit left; add some, or use another model",
    "server_error": "the server is in trouble; resume later",
    "timeout": "raise the model's timeout_s, lower its max_tokens, or use a faster one",
    "connection": "check base_url and that the server runs and is reachable from here",
    "bad_response": "check that base_url points at an OpenAI-compatible server (it usually ends in /v1)",
    "not_found": "check the model's name and base_url (which usually ends in /v1)",
    "bad_request": "the server refuses such requests; check the model's settings",
    "cancelled": "the run is ending",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Failure:
    """How one HTTP attempt failed. `billed_out` is an estimate of what was generated for nothing, None if nothing
    can have been billed."""

    reason: FailureReason
    message: str
    http_status: int | None = None
    retry_after_s: float | None = None
    billed_out: int | None = None
    retry: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Body:
    """A 200 answer: its bytes, or None when there were too many, and its headers."""

    content: bytes | None
    headers: Mapping[str, str]


class _Attempt:
    """One HTTP attempt in its own thread; `outcome` is set when `done` is, `abandoned` makes it stop reading."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.abandoned = threading.Event()
        self.outcome: _Body | BaseException | None = None


class OpenAILLM:
    """One model behind one endpoint. Thread-safe. The key lives in the SDK's client and in nothing that is shown.

    `stopping` ends waits and calls in flight with CallFailed `cancelled`. `seed` and the request's key drive the
    jitter of the waits; `limiter` is shared by all the models behind the endpoint, and `usual` knows the answers of
    this one. Raises MachineError when the key's variable is not set, InputError for an unusable URL.
    """

    def __init__(
        self,
        settings: ModelSettings,
        *,
        stopping: threading.Event,
        seed: int = 0,
        retry: RetryPolicy | None = None,
        limiter: Limiter | None = None,
        usual: UsualOutput | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self.name = settings.name
        self.settings = settings
        check_timeout(settings)
        self._url = endpoint_url(settings)
        self._stopping = stopping
        self._seed = seed
        self._retry = retry or RetryPolicy()
        self._limiter = limiter or Limiter()
        self._usual = usual or UsualOutput(settings.max_tokens)
        self._key = read_key(settings, environ)
        self._limit_key = _LIMIT_KEYS[urlsplit(self._url).hostname == "api.openai.com"]
        self._client: Any = None
        self._client_lock = threading.Lock()

    def __repr__(self) -> str:
        return f"OpenAILLM({self.name!r})"

    def estimate_usd(self, tokens_in: int) -> float:
        """See LLM.estimate_usd; 0 for a model without prices."""
        return self.settings.cost(tokens_in, self._usual.tokens()) or 0.0

    def complete(self, messages: Sequence[Message], *, key: str, observe: Observer) -> Completion:
        """See LLM.complete."""
        tokens_in = sum(estimate_tokens(message.content) for message in messages)
        tokens_out = self._usual.tokens()
        self._connect()  # importing the SDK takes a second, which is not part of any deadline
        tries, number, call = Tries(self._retry), self._limiter.number(), 0
        while True:
            rng = random.Random(f"{self._seed}:{key}:{call}:wait")
            sent_at = self._limiter.turn(number, chance=rng, held=partial(self._held, call, observe))
            self._check_running()
            observe(
                CallEvent(
                    call=call,
                    phase="calling",
                    status="calling",
                    model=self.settings.model,
                    usage=self._estimate(tokens_in, tokens_out),
                )
            )
            began = time.monotonic()
            result = self._attempt(messages, began=began, tokens_in=tokens_in)
            latency = time.monotonic() - began
            if isinstance(result, Completion):
                self._usual.note(result.usage.tokens_out)
                observe(self._answered(call, result))
                return result
            if result.reason == "rate_limited":
                self._limiter.refused(sent_at, wait_s=result.retry_after_s, chance=rng)
            again: dict[str, Any] = {"now": time.monotonic(), "retry_after_s": result.retry_after_s, "rng": rng}
            wait_s = tries.again_after_s(result.reason, **again) if result.retry else None
            observe(self._failed(call, result, tokens_in, latency, wait_s=wait_s))
            call += 1
            if wait_s is None:
                raise self._call_failed(result, calls=call)
            if result.reason != "rate_limited":  # else it is the limiter that it waits for
                self._stopping.wait(wait_s)

    def _held(self, call: int, observe: Observer) -> None:
        """Told while a request waits for its turn."""
        self._check_running()
        observe(CallEvent(call=call, phase="waiting", status="waiting", model=self.settings.model))

    def close(self) -> None:
        """Close idle connections. Calls in flight are not waited for."""
        with self._client_lock:
            if self._client is not None:
                self._client.close()
                self._client = None

    # -- one attempt --------------------------------------------------------------------------------------------

    def _attempt(self, messages: Sequence[Message], *, began: float, tokens_in: int) -> Completion | _Failure:
        attempt = _Attempt()
        limit_key = self._limit_key
        options = self._options(limit_key)
        thread = threading.Thread(target=self._send, args=(attempt, messages, options), name="llm", daemon=True)
        thread.start()
        deadline = began + self.settings.timeout_s
        while not attempt.done.wait(min(_CANCEL_POLL_S, max(0.0, deadline - time.monotonic()))):
            if self._stopping.is_set():
                attempt.abandoned.set()
                return self._lost("cancelled", "given up, since the run is ending")
            if time.monotonic() >= deadline:
                attempt.abandoned.set()
                return self._lost("timeout", f"no whole answer within {self.settings.timeout_s:g} s", retry=True)
        if isinstance(attempt.outcome, _Body):
            tokens, headers = tokens_in + self._usual.tokens(), attempt.outcome.headers
            left = stated_wait(headers, now=time.time(), refused=False, tokens=tokens)
            self._limiter.answered(nothing_left_s=left)
            return self._read(attempt.outcome, latency=time.monotonic() - began, tokens_in=tokens_in)
        assert attempt.outcome is not None
        return self._understand(attempt.outcome, limit_key)

    def _send(self, attempt: _Attempt, messages: Sequence[Message], options: Mapping[str, Any]) -> None:
        """Make the request and read its answer, in a thread of its own."""
        try:
            create = self._connect().chat.completions.with_streaming_response.create
            turns = [{"role": message.role, "content": message.content} for message in messages]
            with create(model=self.settings.model, messages=turns, **options) as response:
                chunks: list[bytes] = []
                size = 0
                for chunk in response.iter_bytes():
                    size += len(chunk)
                    if attempt.abandoned.is_set() or size > BODY_LIMIT:
                        break
                    chunks.append(chunk)
                whole = b"".join(chunks) if size <= BODY_LIMIT else None
                attempt.outcome = _Body(content=whole, headers=response.headers)
        except BaseException as cause:  # noqa: BLE001 # boundary: handed to the waiting thread, which judges or raises it
            attempt.outcome = cause
        finally:
            attempt.done.set()

    def _connect(self) -> Any:
        with self._client_lock:
            if self._client is None:
                import openai

                # base_url is always stated: the SDK would otherwise take one from the environment, and send the
                # key to it.
                self._client = openai.OpenAI(
                    api_key=self._key or _NO_KEY,
                    base_url=self._url,
                    max_retries=0,
                    timeout=self.settings.timeout_s,
                )
            return self._client

    def _options(self, limit_key: str) -> dict[str, Any]:
        options: dict[str, Any] = {}
        if self.settings.temperature is not None:
            options["temperature"] = self.settings.temperature
        if self.settings.max_tokens is not None:
            options[limit_key] = self.settings.max_tokens
        return options

    def _read(self, body: _Body, *, latency: float, tokens_in: int) -> Completion | _Failure:
        if body.content is None:
            return self._lost("bad_response", f"the answer is larger than {BODY_LIMIT} bytes", retry=True, http=200)
        reply = read_reply(body.content)
        if isinstance(reply, Unreadable):
            return self._lost("bad_response", reply.message, retry=True, http=200)
        return self._completion(reply, latency=latency, tokens_in=tokens_in)

    def _completion(self, reply: Reply, *, latency: float, tokens_in: int) -> Completion:
        estimated = reply.tokens_in is None or reply.tokens_out is None
        stated_in = tokens_in if reply.tokens_in is None else reply.tokens_in
        stated_out = estimate_tokens(reply.text) if reply.tokens_out is None else reply.tokens_out
        cached = min(reply.tokens_cached, stated_in)
        usage = Usage(
            tokens_in=stated_in,
            tokens_out=stated_out,
            tokens_cached=cached,
            cost_usd=self.settings.cost(stated_in, stated_out, tokens_cached=cached),
            latency_s=latency,
            estimated=estimated,
        )
        return Completion(
            text=self._strike(reply.text),
            finish_reason=reply.finish_reason,
            usage=usage,
            reasoning=self._strike(reply.reasoning),
        )

    def _estimate(self, tokens_in: int, tokens_out: int, *, latency_s: float = 0.0) -> Usage:
        """What a call took, or will take, as far as we can say without its answer."""
        return Usage(
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            cost_usd=self.settings.cost(tokens_in, tokens_out),
            latency_s=latency_s,
            estimated=True,
        )

    def _answered(self, call: int, completion: Completion) -> CallEvent:
        return CallEvent(
            call=call,
            phase="answered",
            status=completion.finish_reason,
            model=self.settings.model,
            http_status=200,
            usage=completion.usage,
            message="the server stated no usage, so tokens and cost are estimates"
            if completion.usage.estimated
            else "",
        )

    # -- failures -----------------------------------------------------------------------------------------------

    def _understand(self, cause: BaseException, limit_key: str) -> _Failure:
        """What an exception of the SDK means; any other one is raised as it is."""
        import openai

        transport = _transport_errors(cause)
        if isinstance(cause, openai.APITimeoutError) or "TimeoutException" in transport:
            return self._lost("timeout", f"no answer within {self.settings.timeout_s:g} s", retry=True)
        if isinstance(cause, openai.APIStatusError):
            return self._refused(cause.status_code, cause.body, cause.response.headers, limit_key)
        if isinstance(cause, openai.APIConnectionError) or transport & {"RequestError", "StreamError"}:
            inner = cause.__cause__ or cause
            detail = self._strike(one_line(str(inner) or type(inner).__name__))
            if transport & _NOTHING_SENT:
                return _Failure(reason="connection", message=f"no connection ({detail})", retry=True)
            return self._lost("connection", f"the connection broke off ({detail})", retry=True)
        raise cause

    def _refused(self, status: int, body: object, headers: Mapping[str, str], limit_key: str) -> _Failure:
        """An HTTP error. A server that knows the token limit by its other name is asked again with that one."""
        error = body.get("error", body) if isinstance(body, dict) else {}
        code = error.get("code") if isinstance(error, dict) else None
        reason = reason_of_status(status, code if isinstance(code, str) else None)
        said = self._strike(stated_error(body))
        retry_after_s = stated_wait(headers, now=time.time(), refused=True)
        retry = worth_retrying(reason)
        if reason == "bad_request" and limit_key in said and any(w in said.lower() for w in _NOT_KNOWN_WORDS):
            # Another thread may have found out first; then this request, too, goes again.
            self._limit_key = _LIMIT_KEYS[1 - _LIMIT_KEYS.index(limit_key)]
            retry, retry_after_s = True, 0.0
        return _Failure(
            reason=reason,
            message=f"HTTP {status}{f': {said}' if said else ''}",
            http_status=status,
            retry_after_s=retry_after_s,
            retry=retry,
        )

    def _lost(self, reason: FailureReason, message: str, *, retry: bool = False, http: int | None = None) -> _Failure:
        """A request that the server may have worked on, and will bill, without our having its answer."""
        billed = self._usual.tokens()
        return _Failure(reason=reason, message=self._strike(message), http_status=http, billed_out=billed, retry=retry)

    def _failed(
        self, call: int, failure: _Failure, tokens_in: int, latency: float, *, wait_s: float | None
    ) -> CallEvent:
        usage = Usage(latency_s=latency)
        if failure.billed_out is not None:
            usage = self._estimate(tokens_in, failure.billed_out, latency_s=latency)
        again = "" if wait_s is None else f"; asking again in {wait_s:.1f} s"
        return CallEvent(
            call=call,
            phase="failed",
            status=failure.reason,
            model=self.settings.model,
            http_status=failure.http_status,
            usage=usage,
            message=failure.message + again,
        )

    def _call_failed(self, failure: _Failure, *, calls: int) -> CallFailed:
        after = f" (after {calls} attempts)" if calls > 1 else ""
        return CallFailed(
            failure.reason,
            f"model {self.settings.model!r} at {self._url}: {failure.message}{after}; " + self._advice(failure.reason),
        )

    def _advice(self, reason: FailureReason) -> str:
        if reason != "auth":
            return _ADVICE[reason]
        variable = self.settings.api_key_env
        if variable is None:
            return "the server wants a key; name the environment variable that holds it as api_key_env"
        return f"check the key in the environment variable {variable}"

    def _check_running(self) -> None:
        if self._stopping.is_set():
            raise CallFailed("cancelled", f"model {self.settings.model!r}: not asked, since the run is ending")

    def _strike(self, text: str) -> str:
        """`text` without the key, should a server have repeated it."""
        return text.replace(self._key, _STRUCK) if len(self._key) >= _SHORTEST_SECRET else text


def _transport_errors(cause: BaseException) -> set[str]:
    """The names of the transport's classes that an exception, or what caused it, is of.

    Reading a body raises the transport's own errors, and its package depends on the SDK's version.
    """
    classes = [*type(cause).__mro__, *type(cause.__cause__).__mro__]
    return {c.__name__ for c in classes if c.__module__.partition(".")[0] in ("httpx", "httpx2")}
