"""The live pages: a read-only server for this machine only.

Every address begins with the server's key, which is printed at its start: /KEY/, /KEY/api/runs, ...

    GET /                      the page
    GET /api/runs              {"runs": [a row of each], "unreadable": [{"run", "reason"}]}
    GET /api/run/NAME          a run; `version` names the state of its record
    GET /api/run/NAME/rest     the keys of a run that events leave out
    GET /api/run/NAME/gen/N    a generation
    GET /api/run/NAME/code/N   {"code": the source of its program; of several files each under a line `FILE: path`}
    GET /api/compare?run=A&run=B   the comparison of these runs, as of `evolve compare`
    GET /api/events?run=NAME&since=VERSION   the changes since, as Server-Sent Events, while they are written;
                               an event `whole` is the complete run, if its changes are unknown; `ended` is the last
                               event of a server that ends with a run: {"again": the command that opens the pages}

A failure of a run is answered as {"error": a sentence}, or sent as an event `trouble`; the server goes on.
"""

import asyncio
import hmac
import json
import os
import signal
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, Final

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from evaluator.errors import EvaluatorError
from evaluator.signals import handle_once
from evolve.archive.reader import RunReader
from evolve.core.errors import EvolveError
from evolve.core.invocation import anywhere
from evolve.review import comparison
from evolve.review.generation_view import GenerationView
from evolve.view import payload
from evolve.view.assets import live_page
from evolve.view.door import Client, Door, limit_logging, most_connections
from evolve.view.following import FollowedRun, FollowedRuns
from evolve.view.payload import run_summary

_POLL_S: Final = 0.3
"""The interval between two looks at a journal while a page listens."""
_BEAT_S: Final = 15.0
"""The interval of keep-alive messages on a silent stream."""
_DRAIN_TIMEOUT_S: Final = 5.0
"""The most time that an ending server waits until its streams have sent the last events."""
_LINGER_S: Final = 0.5
"""The time that it then still answers requests, since the last events may lead to some."""
_ACCEPTED_AT_ONCE: Final = 32
"""The connections accepted before the door checks them; each has a descriptor."""
_QUEUE: Final = 128
"""The connections that the system queues meanwhile; further clients try again after a second."""
_HTTP: Final = 80
"""The port that browsers leave out of Host."""
_KNOWN: Final = (EvolveError, EvaluatorError)
_CLOSED: Final = "default-src 'none'; frame-ancestors 'none'"
_HEADERS: Final = {
    "content-security-policy": _CLOSED,
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}


def serve(folder: Path, listening: socket.socket, key: str, *, until_closed: int | None = None) -> None:
    """Serve the runs in `folder` to clients with the key, until a signal comes (Ctrl-C: KeyboardInterrupt), or until
    the other end of the pipe `until_closed` is closed."""
    runs = FollowedRuns(folder)
    drain, connections = DrainState(), most_connections()
    door = Door(connections=connections)
    app = application(
        runs, port=listening.getsockname()[1], key=key, ending=lambda: server.should_exit, drain=drain, door=door
    )
    limit_logging()
    server = _Server(
        uvicorn.Config(
            app,
            log_config=None,  # a bug in here is a traceback on stderr
            access_log=False,
            lifespan="off",
            ws="none",
            http=_protocol(door),
            loop="asyncio",
            server_header=False,
            timeout_graceful_shutdown=2,
            limit_concurrency=connections,
            backlog=_ACCEPTED_AT_ONCE,
        )
    )
    if until_closed is not None:
        threading.Thread(target=_drain_and_exit, args=(until_closed, server, drain), daemon=True).start()
    try:
        server.run(sockets=[listening])
    finally:
        runs.close()


class _Server(uvicorn.Server):
    """A server that a second Ctrl-C ends even if it cannot handle the first one."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listening in sockets or ():
            listening.listen(_QUEUE)  # asyncio has one number for the queue and the connections accepted at once

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture each signal once."""
        with super().capture_signals():
            if threading.current_thread() is threading.main_thread():
                for number in (signal.SIGINT, signal.SIGTERM):
                    handle_once(number, self.handle_exit)
            yield

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Handle the first signal of a kind."""
        handle_once(sig, self.handle_exit)
        super().handle_exit(sig, frame)


def _protocol(door: Door) -> type[asyncio.Protocol]:
    """The HTTP protocol, with its connections noted at a door."""

    class Watched(H11Protocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            if self.client is not None:
                door.came(self.client, transport)

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            if self.client is not None:
                door.left(self.client)

    return Watched


class DrainState:
    """Whether streams must send the last events and end (`due`), and how many have not ended yet (`listening`)."""

    def __init__(self) -> None:
        self.due = False
        self.listening = 0


def _drain_and_exit(descriptor: int, server: uvicorn.Server, drain: DrainState) -> None:
    """End the server when the other end of a pipe is closed, also by the death of its owner. Open streams send the last
    events first."""
    while os.read(descriptor, 1024):
        pass
    drain.due, listened = True, drain.listening > 0
    latest = time.monotonic() + _DRAIN_TIMEOUT_S
    while drain.listening and time.monotonic() < latest:
        time.sleep(0.02)
    if listened:
        time.sleep(_LINGER_S)
    server.should_exit = True


def application(
    runs: FollowedRuns, *, port: int, key: str, ending: Callable[[], bool], drain: DrainState, door: Door
) -> ASGIApp:
    """The application at that port below `/KEY/`. Streams end soon after `ending()` is true, or with a last event when
    `drain` is due. A request with the key releases its connection from the `door`."""
    answers = _Answers(runs, ending, drain)
    routes = [
        Route("/", answers.page),
        Route("/api/runs", answers.all_runs),
        Route("/api/run/{name}", answers.run),
        Route("/api/run/{name}/rest", answers.rest),
        Route("/api/run/{name}/gen/{number}", answers.generation),
        Route("/api/run/{name}/code/{number}", answers.code),
        Route("/api/compare", answers.compare),
        Route("/api/events", answers.events),
    ]
    inner = Starlette(routes=routes, exception_handlers={HTTPException: _nothing, **dict.fromkeys(_KNOWN, _unreadable)})
    inner.router.redirect_slashes = False
    return _Guard(inner, port, key, admitted=door.left)


class _Guard:
    """Admits requests of the page only: to a name of this machine, at this port, with the key, to read. Adds the
    headers to answers.

    The check of Host keeps out other sites whose names point at this machine (DNS rebinding); the key in the address
    keeps out other users of this machine.
    """

    def __init__(self, app: ASGIApp, port: int, key: str, *, admitted: Callable[[Client], None]) -> None:
        self._app = app
        self._admitted = admitted
        self._key = key.encode()
        names = ("localhost", "127.0.0.1", "[::1]")
        self._hosts = {f"{name}:{port}".encode() for name in names}
        if port == _HTTP:
            self._hosts |= {name.encode() for name in names}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def put(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name for name, _ in message["headers"]}
                more = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
                message["headers"] = [*message["headers"], *(pair for pair in more if pair[0] not in given)]
            await send(message)

        if scope["type"] != "http":
            return
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            refused = _json({"error": "this server only answers for localhost and its own port"}, 421)
            await refused(scope, receive, put)
        elif scope["method"] not in ("GET", "HEAD"):
            refused = _json({"error": "this server is read-only"}, 405)
            refused.headers["allow"] = "GET, HEAD"
            await refused(scope, receive, put)
        elif (path := self._below_key(scope["path"])) is None:
            refused = _json({"error": "this address lacks the server's key: open the address that it printed"}, 403)
            await refused(scope, receive, put)
        else:
            self._admitted(scope["client"])
            await self._app({**scope, "path": path}, receive, put)

    def _below_key(self, path: str) -> str | None:
        """The path below the key; None if it does not begin with the key. Its time does not depend on the key."""
        _, given, below = path.split("/", 2) if path.count("/") > 1 else ("", "", "")
        return f"/{below}" if hmac.compare_digest(given.encode(errors="replace"), self._key) else None


class _Answers:
    """One method for each address. Records are read in threads, so that no request waits for another run's."""

    def __init__(self, runs: FollowedRuns, ending: Callable[[], bool], drain: DrainState) -> None:
        self._runs = runs
        self._ending = ending
        self._drain = drain

    async def page(self, request: Request) -> Response:
        html, policy = live_page()
        return HTMLResponse(html, headers={"content-security-policy": policy})

    async def all_runs(self, request: Request) -> Response:
        rows, failures = await run_in_threadpool(self._runs.of_each, run_summary)
        unreadable = [{"run": name, "reason": str(failure)} for name, failure in failures]
        return _json({"runs": rows, "unreadable": unreadable})

    async def run(self, request: Request) -> Response:
        return await self._of_run(request, _whole)

    async def rest(self, request: Request) -> Response:
        return await self._of_run(request, _rest)

    async def generation(self, request: Request) -> Response:
        return await self._of_generation(request, payload.generation_document)

    async def code(self, request: Request) -> Response:
        def found(archive: RunReader, number: int) -> dict[str, Any]:
            record = archive.program(number)
            return {"code": None if record is None else archive.files(record).joined}

        return await self._of_generation(request, found)

    async def compare(self, request: Request) -> Response:
        runs = [self._known(name) for name in request.query_params.getlist("run")]

        def compared() -> dict[str, Any]:
            read = (run.ask(partial(comparison.read_run, run.folder.name)) for run in runs)
            return comparison.comparison_json(comparison.grouped(read))

        return _json(await run_in_threadpool(compared))

    async def events(self, request: Request) -> Response:
        run = self._known(request.query_params.get("run", ""))
        since = request.headers.get("last-event-id") or request.query_params.get("since", "")
        headers = {"content-type": "text/event-stream"}
        if request.method == "HEAD":
            return Response(headers=headers)
        return StreamingResponse(self._counted(self._stream(run, since)), headers=headers)

    async def _of_run(self, request: Request, question: Callable[[FollowedRun], tuple[str, str]]) -> Response:
        _, text = await run_in_threadpool(question, self._known(request.path_params["name"]))
        return Response(text, media_type="application/json")

    async def _of_generation(self, request: Request, question: Callable[[RunReader, int], dict[str, Any]]) -> Response:
        run, text = self._known(request.path_params["name"]), request.path_params["number"]
        number = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else -1

        def found(archive: RunReader) -> dict[str, Any] | None:
            return question(archive, number) if number in archive.statuses else None

        document = await run_in_threadpool(run.ask, found)
        return _json(document) if document is not None else _json({"error": "the run has no such generation"}, 404)

    async def _counted(self, stream: AsyncIterator[str]) -> AsyncIterator[str]:
        """A stream that an ending server waits for."""
        self._drain.listening += 1
        try:
            async for event in stream:
                yield event
        finally:
            self._drain.listening -= 1

    async def _stream(self, run: FollowedRun, since: str) -> AsyncIterator[str]:
        """The changes of a run after the version `since` (empty: from now on), until the server ends."""
        trouble, silent = "", 0.0
        yield "retry: 1000\n\n"
        while not self._ending():
            last = self._drain.due  # read first, so that all events recorded before are read below
            try:
                since, event = await run_in_threadpool(_last_news if last else _news, run, since)
                now = ""
            except _KNOWN as failure:
                event, now = "", str(failure)
            if now != trouble:
                trouble = now
                yield _event(_text({"error": trouble}), "event: trouble")
            if event:
                yield event
            if last:
                yield _event(_text({"again": _shown_again(run.folder)}), "event: ended")
                return
            silent = 0.0 if event else silent + _POLL_S
            if silent > _BEAT_S:
                silent = 0.0
                yield ":\n\n"
            await asyncio.sleep(_POLL_S)

    def _known(self, name: str) -> FollowedRun:
        try:
            return self._runs.run(name)
        except KeyError:
            raise HTTPException(404, "there is no run of that name") from None


def _whole(run: FollowedRun) -> tuple[str, str]:
    """The present version of a run, and its document."""

    def made(archive: RunReader, views: Sequence[GenerationView], version: str) -> str:
        return _text(payload.run_document(run.folder.name, archive, views) | {"version": version})

    return run.document("whole", made)


def _rest(run: FollowedRun) -> tuple[str, str]:
    """The present version of a run, and the keys that events leave out of its document. Streams do not start from this
    version."""

    def made(archive: RunReader, views: Sequence[GenerationView], version: str) -> str:
        return _text(payload.rest(archive, views) | {"rest_version": version})

    return run.document("rest", made)


def _news(run: FollowedRun, since: str) -> tuple[str, str]:
    """The present version of a run, and the event with its changes since another version; empty without changes."""
    if not since:
        return run.version(), ""

    def changes(archive: RunReader, events: int | None) -> dict[str, Any] | None:
        return None if events is None else payload.changes(archive, events)

    version, changed = run.news(since, changes)
    if changed is not None:
        return version, _event(_text(changed | {"version": version}), f"id: {version}")
    if version == since:
        return since, ""
    return _last_news(run, since)  # the run was read again from the start, so any part may have changed


def _last_news(run: FollowedRun, _since: str) -> tuple[str, str]:
    """The present version of a run, and the event with its whole document, since `rest` can no longer be requested."""
    version, text = _whole(run)
    return version, _event(text, "event: whole", f"id: {version}")


def _shown_again(folder: Path) -> str:
    """The command that shows a run after the end of this server."""
    here = Path.cwd()
    return anywhere("view", str(folder.relative_to(here) if folder.is_relative_to(here) else folder))


def _event(data: str, *heads: str) -> str:
    return "\n".join([*heads, f"data: {data}", "", ""])


def _json(document: object, status: int = 200) -> Response:
    return Response(_text(document), status, media_type="application/json")


def _text(document: object) -> str:
    return json.dumps(document, separators=(",", ":"), allow_nan=False)


async def _unreadable(request: Request, failure: Exception) -> Response:
    return _json({"error": str(failure)}, 503)


async def _nothing(request: Request, failure: Exception) -> Response:
    assert isinstance(failure, HTTPException)
    return _json({"error": failure.detail}, failure.status_code)
