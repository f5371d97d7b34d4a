"""The process around a tree: starts the command confined, measures it, ends everything, returns the result.

Run as a script by path, with `-s -S -P -B`; inside bubblewrap it is process 1. It serves one command of one harness
over one stream socket (descriptor in the first argument), runs no byte of the command itself, and holds no secret:

    harness:   a frame (a job: `TreeSandbox._settings`), then the bytes of the files in its order
    tree_init: a frame {"started": true}, or {"failed": reason}
    tree_init: a frame with the ending (`TreeRun.ending`), then the output's bytes, then the result's

A frame is its length in four bytes, and JSON. The end of the stream is the end of the harness, and ends everything.
"""

import contextlib
import json
import os
import sys

if __name__ == "__main__":
    # The packages are found by this file's place, so that nothing has to be installed or on any path.
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
    sys.path.append(os.path.dirname(os.path.dirname(here)))  # noqa: PTH120

# Each run pays for these imports, and for theirs, and writes no bytecode (`-B`): that comes from the harness, which
# imports this module too. No dataclasses, pathlib, shutil, platform: each costs milliseconds.
from evaluator.sandbox import tree_scratch
from evaluator.sandbox.tree_run import HarnessGone, TreeRun


def main() -> None:
    """Serve one harness."""
    control = int(sys.argv[1])
    os.set_inheritable(control, False)
    try:
        job = json.loads(_receive(control, int.from_bytes(_receive(control, 4), "big")))
        files = {name: _receive(control, size) for name, size in job["files"]}
    except OSError:
        return
    scratch = job["scratch"]
    try:
        if job["outside"] is not None:
            from evaluator.sandbox import enclosure

            enclosure.check(**job["outside"])
        run = TreeRun(control, job)
        run.prepare(files)
        try:
            run.start()
            _send(control, json.dumps({"started": True}).encode())
            run.watch()
        finally:
            run.end()
        header, output, result = run.ending()
        _send(control, json.dumps(header).encode())
        _write(control, output + result)
    except (HarnessGone, ConnectionError):
        pass
    except BaseException as cause:  # noqa: BLE001 - boundary: the reason must reach the harness, whatever it is
        with contextlib.suppress(OSError):
            _send(control, json.dumps({"failed": f"{type(cause).__name__}: {cause}"[:2000]}).encode())
    finally:
        if job["remove"]:
            with contextlib.suppress(OSError):  # if the harness is still there, it reports what remains
                tree_scratch.remove(scratch)


def _send(control: int, text: bytes) -> None:
    _write(control, len(text).to_bytes(4, "big") + text)


def _write(control: int, text: bytes) -> None:
    unsent = memoryview(text)
    while unsent:
        unsent = unsent[os.write(control, unsent) :]


def _receive(control: int, size: int) -> bytes:
    received = bytearray()
    while len(received) < size:
        chunk = os.read(control, min(1 << 20, size - len(received)))
        if not chunk:
            raise ConnectionResetError("the harness has gone")
        received += chunk
    return bytes(received)


if __name__ == "__main__":
    main()
    os._exit(0)  # an orderly exit of the interpreter takes as long as its start
