"""A real HTTP server that speaks chat completions and the Responses API, and misbehaves on request.

    with OpenAIServer([status(429, retry_after="0"), answer("hello")]) as server:
        ... base_url=server.url ...
    assert len(server.requests) == 2

Behaviours are taken in order of arrival; after the last one `default` answers. A behaviour may also be a function
of the request (the parsed JSON) that returns a behaviour. `server.requests` holds every request that arrived. With an
`endpoint`, a function of what was received, that one answers whatever is asked at whatever path.
"""

import json
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True, kw_only=True)
class Behaviour:
    """What the server does with one request."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    hang: bool = False  # accept, and say nothing until the server closes
    drop: bool = False  # close the connection without an answer
    cut_after: int | None = None  # send this many bytes of the body, then close
    trickle_s: float = 0.0  # send a byte at a time, this far apart
    after_s: float = 0.0  # think for so long first
    flood: int = 0  # send the body again and again, until this many bytes are sent (trickle_s apart)


@dataclass(frozen=True, kw_only=True)
class Received:
    """One request: its headers (lower case), its JSON (None for a GET), and where it went."""

    headers: Mapping[str, str]
    json: Any
    path: str = ""
    query: Mapping[str, str] = field(default_factory=dict)


def answer(
    text: str | None,
    *,
    finish_reason: str | None = "stop",
    tokens: tuple[int, int] | None = (100, 10),
    after_s: float = 0.0,
    **message: Any,
) -> Behaviour:
    """A chat completion; `tokens` None leaves `usage` out, `message` adds fields to the message."""
    document: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": "test",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text, **message},
                "finish_reason": finish_reason,
            }
        ],
    }
    if tokens is not None:
        document["usage"] = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)}
    return replace(raw(json.dumps(document).encode()), after_s=after_s)


def streamed(
    text: str,
    *,
    finish_reason: str | None = "stop",
    tokens: tuple[int, int] | None = (100, 10),
    done: bool = True,
    **delta: Any,
) -> Behaviour:
    """The same answer as a stream, a few characters at a time; `delta` adds fields to the first piece."""
    pieces = [text[at : at + 40] for at in range(0, len(text), 40)]
    chunks: list[dict[str, Any]] = [{"choices": [{"index": 0, "delta": {"role": "assistant", **delta}}]}]
    chunks += [{"choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]} for piece in pieces]
    if finish_reason is not None:
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish_reason}]})
    if tokens is not None:
        chunks.append({"choices": [], "usage": {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]}})
    lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks] + (["data: [DONE]\n\n"] if done else [])
    return Behaviour(body="".join([": hello\n\n", *lines]).encode(), headers={"Content-Type": "text/event-stream"})


def response(text: str, *, status: str = "completed", thought: str = "", **fields: Any) -> Behaviour:
    """An answer of the Responses API."""
    output: list[dict[str, Any]] = [{"type": "reasoning", "summary": [{"type": "summary_text", "text": thought}]}]
    output.append({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]})
    document = {"object": "response", "status": status, "output": output, "error": None, **fields}
    return raw(json.dumps({"usage": {"input_tokens": 100, "output_tokens": 10}, **document}).encode())


def raw(body: bytes, *, status: int = 200) -> Behaviour:
    """These very bytes."""
    return Behaviour(body=body, status=status, headers={"Content-Type": "application/json"})


def status(http: int, /, *, retry_after: str | None = None, error: str = "as asked", **fields: Any) -> Behaviour:
    """An HTTP error with OpenAI's body."""
    headers = {"Content-Type": "application/json"}
    if retry_after is not None:
        headers["Retry-After"] = retry_after
    body = {"error": {"message": error, "type": "test", "param": None, "code": None, **fields}}
    return Behaviour(body=json.dumps(body).encode(), status=http, headers=headers)


def no_choices() -> Behaviour:
    """A completion with an empty list of choices."""
    return raw(b'{"id": "x", "object": "chat.completion", "choices": []}')


def refusal(text: str) -> Behaviour:
    """A refusal in the protocol's own field."""
    return answer(None, refusal=text)


class TokenBucket:
    """Lets through `rate` requests a second, and `burst` at once after a rest; the others get 429 and, in the `header`,
    how long they should wait (whole seconds, rounded up, as servers say it; `None` leaves that out).

        with OpenAIServer(default=TokenBucket(rate=20, burst=10, let_through=answer("x"))) as server:

    `arrivals` holds (moment, let through?) of every request."""

    def __init__(self, *, rate: float, burst: int, let_through: "Step", header: str | None = "Retry-After") -> None:
        self.arrivals: list[tuple[float, bool]] = []
        self._rate, self._burst, self._tokens, self._header = rate, burst, float(burst), header
        self._let_through = let_through
        self._lock = threading.Lock()
        self._last = time.monotonic()

    def __call__(self, request: Any) -> Behaviour:
        with self._lock:
            now = time.monotonic()
            self._tokens = min(self._burst, self._tokens + (now - self._last) * self._rate)
            self._last = now
            passes = self._tokens >= 1
            self._tokens -= passes
            self.arrivals.append((now, passes))
            wait = math.ceil((1 - self._tokens) / self._rate)
        if not passes:
            headers = {} if self._header is None else {self._header: str(wait)}
            return replace(status(429, error="slow down"), headers={"Content-Type": "application/json", **headers})
        return self._let_through if isinstance(self._let_through, Behaviour) else self._let_through(request)


HANG = Behaviour(hang=True)
DROP = Behaviour(drop=True)

Step = Behaviour | Callable[[Any], Behaviour]


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256  # with the usual 5, a burst of connections waits a second for its second try
    owner: "OpenAIServer"


class OpenAIServer:
    """Listens on a free loopback port while entered."""

    def __init__(
        self,
        behaviours: Sequence[Step] = (),
        *,
        default: Step | None = None,
        endpoint: Callable[[Received], Behaviour] | None = None,
    ) -> None:
        self.requests: list[Received] = []
        self.flooded: list[int] = []  # of each flood that has ended, the bytes that were taken
        self.flood_ended = threading.Event()
        self._endpoint = endpoint
        self._steps = list(behaviours)
        self._default = default or status(500, error="the test expected no further request")
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._server = _Listener(("127.0.0.1", 0), _Handler)
        self._server.owner = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        """The base_url of a model that this server plays."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> "OpenAIServer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()

    def take(self, received: Received) -> Behaviour:
        """Count a request, and say what to do with it."""
        with self._lock:
            self.requests.append(received)
            if self._endpoint is not None:
                return self._endpoint(received)
            step = self._steps.pop(0) if self._steps else self._default
        return step if isinstance(step, Behaviour) else step(received.json)


class _Handler(BaseHTTPRequestHandler):
    server: _Listener
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer(None)

    def do_POST(self) -> None:
        self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def _answer(self, document: Any) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        url = urlsplit(self.path)
        query = dict(parse_qsl(url.query))
        if document is None and self.server.owner._endpoint is None:
            behaviour = status(404, error=f"no such path: {self.path}")
        else:
            behaviour = self.server.owner.take(Received(headers=headers, json=document, path=url.path, query=query))
        if self.server.owner._endpoint is None and self.path not in ("/v1/chat/completions", "/v1/responses"):
            behaviour = status(404, error=f"no such path: {self.path}")
        try:
            self._behave(behaviour)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _behave(self, behaviour: Behaviour) -> None:
        if behaviour.hang:
            self.server.owner._closing.wait()
        if behaviour.after_s:
            self.server.owner._closing.wait(behaviour.after_s)
        if behaviour.hang or behaviour.drop:
            self.close_connection = True
            return
        self.send_response(behaviour.status)
        for name, value in behaviour.headers.items():
            self.send_header(name, value)
        if behaviour.flood:
            self._flood(behaviour)
            return
        self.send_header("Content-Length", str(len(behaviour.body)))
        self.end_headers()
        if behaviour.trickle_s:
            for byte in behaviour.body:
                if self.server.owner._closing.wait(behaviour.trickle_s):
                    break
                self.wfile.write(bytes([byte]))
                self.wfile.flush()
        else:
            self.wfile.write(behaviour.body[: behaviour.cut_after])
        if behaviour.cut_after is not None:
            self.close_connection = True

    def _flood(self, behaviour: Behaviour) -> None:
        self.close_connection = True
        self.end_headers()
        sent = 0
        try:
            while sent < behaviour.flood and not self.server.owner._closing.is_set():
                self.wfile.write(behaviour.body)
                sent += len(behaviour.body)
                self.server.owner._closing.wait(behaviour.trickle_s)
        finally:
            self.server.owner.flooded.append(sent)
            self.server.owner.flood_ended.set()

    def log_message(self, *_: object) -> None:
        """The tests look at `requests`."""
