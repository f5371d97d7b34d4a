"""Dask distributed, as this package uses it: the only module that imports it.

Dask's own retries are off. A call goes to one worker and to no other; when that worker is gone, the call is lost, and
the head decides.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import urlsplit

from evaluator.recording import MOST_RECORDED
from evaluator.untrusted import one_line
from evolve.cluster.frames import CallEnded, CallLost, CallOdd, FromBroker, SeenWorker, short_name

_CONNECT_S: Final = 10.0
_ANSWER_S: Final = 30.0
"""Seconds that a scheduler may take to list its workers."""
_FETCH_S: Final = 60.0
"""Seconds that a reply may take to arrive, once it is there."""
_BROKEN: Final = "connection-broken"
"""Dask's reason for a worker that lost its scheduler."""
_SETTINGS: Final = {
    "distributed.scheduler.allowed-failures": 0,
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.scheduler.worker-ttl": "60s",
    "distributed.comm.retry.count": 0,
    "distributed.comm.timeouts.connect": f"{_CONNECT_S:g}s",
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.admin.system-monitor.disk": False,
    "distributed.admin.large-graph-warning-threshold": "1GB",  # a task's folder
    "distributed.diagnostics.nvml": False,
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "logging": {"distributed": "critical"},  # whatever matters is reported by name
}


class SchedulerGone(Exception):
    """Raised when the scheduler cannot be reached any more; the message says why."""


def is_loopback(address: str) -> bool:
    """Whether an address leads to this machine only."""
    host = urlsplit(address).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


def _configure() -> None:
    import dask

    dask.config.set(_SETTINGS)


def _security(address: str) -> Any:
    """The certificates of Dask's own settings (DASK_DISTRIBUTED__COMM__TLS__...), where the address is of TLS."""
    from distributed.security import Security

    return Security(require_encryption=True) if address.startswith("tls://") else None


class SchedulerClient:
    """A client of a scheduler, in one event loop."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._heartbeats: dict[str, tuple[float, float]] = {}  # address -> (as reported, when it was seen to change)

    @classmethod
    async def open(cls, address: str) -> Self:
        """Connect. Raises SchedulerGone."""
        _configure()
        from distributed import Client

        client = Client(address, asynchronous=True, security=_security(address), timeout=_CONNECT_S)
        try:
            await client
        except (OSError, TimeoutError, ValueError, RuntimeError, ImportError) as cause:
            raise SchedulerGone(f"no scheduler answers at {address} ({one_line(str(cause), 200)})") from None
        return cls(client)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(TimeoutError, OSError):
            await self._client.close(timeout=1)

    async def workers(self) -> tuple[SeenWorker, ...]:
        """All workers. Raises SchedulerGone."""
        if self._client.status != "running":
            raise SchedulerGone("the connection to the scheduler was lost")
        try:
            identity = await asyncio.wait_for(self._client.scheduler.identity(n_workers=-1), _ANSWER_S)
        except (OSError, TimeoutError) as cause:
            raise SchedulerGone(f"the scheduler does not answer ({type(cause).__name__})") from None
        now = time.monotonic()
        seen = []
        for address, worker in identity["workers"].items():
            if worker.get("status") != "running":  # it is being retired
                continue
            last = float(worker["last_seen"])
            before, changed = self._heartbeats.get(address, (None, now))
            if last != before:
                self._heartbeats[address], changed = (last, now), now
            name, host = short_name(str(worker["name"])), one_line(str(worker["host"]), 60)
            seen.append(SeenWorker(address=str(address), name=name, host=host, silent_s=now - changed))
        return tuple(seen)

    async def call(self, number: int, function: Callable[..., Any], address: str, *texts: str) -> FromBroker:
        """Make one call on one worker, and wait for its end."""
        from distributed import wait

        future = self._client.submit(
            function,
            *texts,
            key=f"evolve-{self._client.id}-{number}",
            workers=[address],
            allow_other_workers=False,
            pure=False,
            retries=0,
        )
        try:
            await wait(future)
            if future.status != "finished":
                return CallLost(call=number, why=f"its call ended as {future.status}")
            return await self._result(number, future)
        finally:
            future.release()

    async def _result(self, number: int, future: Any) -> FromBroker:
        sizes = await self._client.scheduler.nbytes(keys=[future.key], summary=False)
        size = int(sizes.get(future.key, 0))
        if size > 2 * MOST_RECORDED:
            return CallOdd(call=number, why=f"its reply has {size} bytes, and at most {MOST_RECORDED} are read")
        try:
            result = await asyncio.wait_for(future.result(), _FETCH_S)
        except TimeoutError:
            return CallOdd(call=number, why=f"its reply of {size} bytes did not arrive within {_FETCH_S:g} s")
        except MemoryError:
            return CallOdd(call=number, why="its reply does not fit into the memory of the broker")
        except Exception as cause:  # noqa: BLE001 - boundary: whatever another machine's pickle does when it is read
            return CallOdd(call=number, why=f"its reply cannot be read ({one_line(repr(cause), 200)})")
        if type(result) is not tuple or [type(part) for part in result] != [bool, str]:
            return CallOdd(call=number, why=f"its reply is an object of type {one_line(type(result).__name__, 60)}")
        ok, text = result
        if len(text) > MOST_RECORDED:
            return CallOdd(call=number, why=f"its reply has {len(text)} characters; at most {MOST_RECORDED} are read")
        return CallEnded(call=number, ok=ok, text=text)


async def schedule(port: int, folder: Path, ready: Callable[[str], None]) -> None:
    """Run a scheduler on loopback, with `folder` as its own; `ready` gets its address."""
    _configure()
    from distributed import Scheduler

    async with Scheduler(
        host="127.0.0.1", port=port, dashboard_address="127.0.0.1:0", local_directory=str(folder)
    ) as scheduler:
        ready(str(scheduler.address))
        await scheduler.finished()


async def work(address: str, name: str, folder: Path, *, lost: Callable[[], object]) -> None:
    """Be a worker of one thread until it is closed. `lost` is called as soon as it has no scheduler any more. Raises
    SchedulerGone where there is none."""
    _configure()
    from distributed import Worker

    host = "127.0.0.1" if is_loopback(address) else None
    worker = Worker(
        address,
        nthreads=1,
        name=name,
        host=host,
        memory_limit=0,  # candidates have limits of their own
        local_directory=str(folder),
        security=_security(address),
        death_timeout=_CONNECT_S,
        dashboard=False,
    )
    close = worker.close

    async def closing(
        timeout: float = 30, executor_wait: bool = True, nanny: bool = True, reason: str = "worker-close"
    ) -> str | None:
        if _BROKEN in reason or "heartbeat" in reason:
            lost()  # Dask would wait for what its thread evaluates
        closed: str | None = await close(timeout, executor_wait, nanny, reason)
        return closed

    worker.close = closing
    try:
        await worker
    except (OSError, TimeoutError, ValueError, RuntimeError) as cause:
        raise SchedulerGone(f"{address} does not take this worker ({one_line(str(cause), 200)})") from None
    await worker.finished()
