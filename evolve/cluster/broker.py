"""The broker: `python -m evolve.cluster.broker ADDRESS`, a process between the head and a scheduler.

It unpickles what scheduler and workers send, so it has no keys and may write no file. It reads calls from its standard
input and writes their results to its standard output (`evolve.cluster.frames`). It ends with its input.
"""

import asyncio
import os
import sys
import threading
from typing import BinaryIO, Final

from evaluator.errors import SandboxError
from evaluator.untrusted import one_line
from evolve.cluster.calls import call
from evolve.cluster.confinement import confine
from evolve.cluster.engine import SchedulerClient, SchedulerGone
from evolve.cluster.frames import CallLost, FromBroker, Submit, ToBroker, Workers, framed, read_frame, to_broker

_LOOK_S: Final = 0.5
"""Seconds between two looks at the workers."""


class Broker:
    """Makes the calls of the head."""

    def __init__(self, client: SchedulerClient, output: BinaryIO) -> None:
        self._client = client
        self._output = output
        self._running: dict[int, asyncio.Task[None]] = {}

    async def watch(self) -> None:
        """Tell the head of all workers, again and again. Raises SchedulerGone."""
        while True:
            self._send(Workers(workers=await self._client.workers()))
            await asyncio.sleep(_LOOK_S)

    def take(self, message: ToBroker) -> None:
        """Do what the head says."""
        if isinstance(message, Submit):
            self._running[message.call] = asyncio.create_task(self._make(message))
        elif message.call in self._running:
            self._running[message.call].cancel()

    async def _make(self, submitted: Submit) -> None:
        number, address = submitted.call, submitted.address
        try:
            answer = await self._client.call(number, call, address, submitted.function, submitted.text)
        except Exception as cause:  # noqa: BLE001 - boundary: the head decides what a failed call means
            answer = CallLost(call=number, why=f"the broker could not make a call ({one_line(repr(cause), 200)})")
        finally:
            del self._running[number]
        self._send(answer)

    def _send(self, message: FromBroker) -> None:
        self._output.write(framed(message))
        self._output.flush()


def _read(source: BinaryIO, broker: Broker, loop: asyncio.AbstractEventLoop) -> None:
    """Hand over each message; at the end of the input end the process."""
    while (payload := read_frame(source)) is not None:
        loop.call_soon_threadsafe(broker.take, to_broker(payload))
    os._exit(0)


async def _serve(address: str, output: BinaryIO) -> None:
    async with await SchedulerClient.open(address) as client:
        broker = Broker(client, output)
        reading = threading.Thread(
            target=_read, args=(sys.stdin.buffer, broker, asyncio.get_running_loop()), daemon=True
        )
        reading.start()
        await broker.watch()


def main(address: str) -> int:
    """Serve until the input ends (0) or the scheduler is gone (3)."""
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no message
    try:
        confine()
        asyncio.run(_serve(address, output))
    except (SchedulerGone, SandboxError) as why:
        sys.stderr.write(f"{why}\n")
    sys.stderr.flush()
    os._exit(3)


if __name__ == "__main__":
    main(sys.argv[1])
