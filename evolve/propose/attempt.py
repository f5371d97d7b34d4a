"""One HTTP attempt by the SDK, in a thread of its own: given up at its deadline or when the run ends.

So `timeout_s` is a deadline for the whole of it (the SDK's timeouts are per read, so a server that trickles never meets
them), and a run ends without waiting for a server. A body is read piece by piece and never beyond a limit, whatever its
status and its encoding: some versions of the transport's own decoders decode each piece as a whole, so that a few
kilobytes become gigabytes. No redirect is followed."""

import threading
import time
import zlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any

from evaluator.untrusted import one_line
from evolve.core.config import ModelConfig
from evolve.propose.endpoint import Secrets
from evolve.propose.reply import Reply, Unreadable, read_reply
from evolve.propose.retry import Failure
from evolve.propose.waking import WakingEvent

BODY_LIMIT = 8 * 1024 * 1024
"""Bytes of an HTTP answer that are read, and decoded; beyond them it is a bad response."""

ERROR_LIMIT = 1024 * 1024
"""The same for an HTTP error, whose first sentences are all that is wanted."""

_LIST_S = 20.0  # seconds that are waited for a list of models
_NO_KEY = "none"  # what the SDK is given for a server that wants no key: it refuses to have none, and sends none
_NOTHING_SENT = {"ConnectError", "ConnectTimeout", "PoolTimeout"}
_ABANDONED = ContextVar[threading.Event]("abandoned")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An HTTP answer, without secrets: its headers (by names in any case) and decoded bytes. `unread` says why there
    are none; it is empty where they were read to their end. `error` is what one that is no success says, `reply` what
    one that is says to a question."""

    status: int
    headers: Mapping[str, str]
    content: bytes
    unread: str
    error: object = None
    reply: Reply | Unreadable | None = None


class Connection:
    """The SDK's client of one endpoint, which is made when it is first needed. Thread-safe."""

    def __init__(self, settings: ModelConfig, url: str, secrets: Secrets, stopping: WakingEvent) -> None:
        self._settings, self._url, self._secrets, self._stopping = settings, url, secrets, stopping
        self._client: Any = None
        self._without: dict[str, Any] = {}  # the headers that the SDK is not to send
        self._lock = threading.Lock()

    def ask(self, api: str, conversation: Mapping[str, Any], fields: Mapping[str, Any]) -> Answer | Failure:
        """What comes of one request to an API, `chat` or `responses`."""
        client = self.open()
        create = (client.responses if api == "responses" else client.chat.completions).with_raw_response.create
        ask = partial(create, model=self._settings.model, **conversation, extra_body=fields)
        return self._outcome(ask, self._settings.timeout_s, api)

    def models(self) -> Answer | Failure:
        """The endpoint's list of models."""
        return self._outcome(self.open().models.with_raw_response.list, min(self._settings.timeout_s, _LIST_S))

    def open(self) -> Any:
        """The client. Importing the SDK takes a second, which should be part of no deadline."""
        with self._lock:
            if self._client is None:
                import openai

                secrets = self._secrets
                if not secrets.key and not any(name.lower() == "authorization" for name in secrets.headers):
                    self._without = {"Authorization": openai.Omit()}
                # base_url is always stated: the SDK would otherwise take one from the environment, and send the
                # key to it.
                self._client = openai.OpenAI(
                    api_key=secrets.key or _NO_KEY,
                    base_url=self._url,
                    default_headers={"Accept-Encoding": "gzip", **secrets.headers},
                    default_query=dict(secrets.query),
                    max_retries=0,
                    timeout=self._settings.timeout_s,
                    http_client=_bounded(secrets),
                )
                secrets.keep_out_of_logs()
            return self._client

    def close(self) -> None:
        """Close idle connections. Calls in flight are not waited for."""
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None

    def _outcome(self, request: Callable[..., Any], wait_s: float, api: str | None = None) -> Answer | Failure:
        """Wait for what comes of a request, or give it up: then it is left at its next piece, and so is closed."""
        done, abandoned, found = threading.Event(), threading.Event(), list[Answer | Failure | BaseException]()

        def send() -> None:
            _ABANDONED.set(abandoned)  # a new thread has a context of its own
            try:
                found.append(self._sent(request, api))
            except BaseException as cause:  # noqa: BLE001 # boundary: handed to the waiting thread, which raises it
                found.append(cause)
            finally:
                done.set()

        deadline = time.monotonic() + wait_s
        threading.Thread(target=send, name="llm", daemon=True).start()
        with self._stopping.wakes(done):
            while not (found or self._stopping.is_set()) and (left_s := deadline - time.monotonic()) > 0:
                done.wait(left_s)
                done.clear()
        if not found:
            abandoned.set()
            if self._stopping.is_set():
                return Failure(reason="cancelled", message="given up, since the run is ending", billed=True)
            return Failure(reason="timeout", message=f"no whole answer within {wait_s:g} s", billed=True)
        if isinstance(found[0], BaseException):
            raise found[0]
        return found[0]

    def _sent(self, request: Callable[..., Any], api: str | None) -> Answer | Failure:
        import openai

        error: object = None
        try:
            response = request(extra_headers=self._without).http_response
        except openai.APIStatusError as refused:
            response, error = refused.response, refused.body
        except openai.APITimeoutError:
            message = f"no answer within {self._settings.timeout_s:g} s"
            return Failure(reason="timeout", message=message, billed=True)
        except openai.APIConnectionError as broken:
            cause = broken.__cause__ or broken
            sent = _NOTHING_SENT.isdisjoint(one.__name__ for one in type(cause).__mro__)
            detail = one_line(self._secrets.struck(str(cause)) or type(cause).__name__)
            what = "the connection broke off" if sent else f"no connection to {self._url}"
            message = f"{what} ({detail})"
            return Failure(reason="connection", message=message, billed=sent)
        unread = response.extensions["unread"]
        reply: Reply | Unreadable | None = None
        if api is not None and response.is_success and not unread:
            try:
                reply = read_reply(response, api, self.open())
            except Unreadable as fault:
                reply = fault
        return Answer(
            status=response.status_code,
            headers=response.headers,
            content=response.content,
            unread=unread,
            error=error,
            reply=reply,
        )


def _bounded(secrets: Secrets) -> Any:
    """The SDK's transport, whose answers are read within limits before anybody looks at them."""
    import openai

    class Bounded(openai.DefaultHttpxClient):
        def send(self, request: Any, **options: Any) -> Any:
            with closing(super().send(request, **options | {"stream": True})) as response:
                headers = {name: value for name, value in response.headers.items() if name != "content-encoding"}
                content, unread = read_body(
                    response.iter_raw(),
                    encoding=response.headers.get("content-encoding", ""),
                    limit=BODY_LIMIT if response.is_success else ERROR_LIMIT,
                )
            return type(response)(
                response.status_code,
                headers=headers,
                content=secrets.struck_bytes(content),
                request=request,
                extensions={"unread": unread},
            )

    return Bounded(follow_redirects=False)


def read_body(chunks: Iterable[bytes], *, encoding: str, limit: int) -> tuple[bytes, str]:
    """Read the raw `chunks` of an answer: until their end, one byte beyond the limit, or until the attempt is given up.
    Its decoded bytes, and why there are none."""
    encoding = encoding.strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip"):
        return b"", "it is encoded in a way that was not asked for"
    decoder = zlib.decompressobj(zlib.MAX_WBITS | 16) if encoding.endswith("gzip") else None
    content, received = bytearray(), 0
    try:
        for chunk in chunks:
            received += len(chunk)
            if decoder is not None:  # after its end it would keep what follows
                chunk = b"" if decoder.eof else decoder.decompress(chunk, limit + 1 - len(content))
            content += chunk
            if max(received, len(content)) > limit:
                return b"", f"it is larger than {limit} bytes"
            if _ABANDONED.get().is_set():
                return b"", "it was given up"
    except zlib.error as cause:
        return b"", f"it cannot be decoded: {cause}"
    return bytes(content), ""
