"""`evolve rerun` as a user calls it, where there is no network."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.loop.climbing import ROOT, forked


def without_network() -> None:
    """Let no socket of any network be made in this process (the sandbox's own are files)."""

    class NoNetwork(socket.socket):
        def __init__(self, family: int = -1, *words: Any, **more: Any) -> None:
            if family != socket.AF_UNIX and "fileno" not in more:
                raise AssertionError("a network socket was opened")
            super().__init__(family, *words, **more)

    socket.socket = NoNetwork  # type: ignore[misc]
    socket.create_connection = socket.getaddrinfo = None  # type: ignore[assignment]


# The same in an interpreter of its own.
NO_NETWORK = """
import sys
from tests.loop.rerun.calling import without_network
without_network()
from evolve.cli.main import main
raise SystemExit(main(sys.argv[1:]))
"""


# A namespace of the kernel in which there is no network at all, for whatever processes are begun in it.
NAMESPACE = ("unshare", "--user", "--map-root-user", "--net")


def rerun(folder: Path, *words: str, code: int | None = 0, within: Sequence[str] = ()) -> Any:
    """`evolve rerun ... --json` without network and without any key, `within` another command; what it says."""
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_KEY")}
    environment |= {"PYTHONPATH": str(ROOT)}
    command = ["rerun", *words, "--json"]
    if within:
        ran = subprocess.run(
            [*within, sys.executable, "-c", NO_NETWORK, *command],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    else:
        ran = forked(folder, command, environment, without_network)
    assert code is None or ran.returncode == code, ran.stdout + ran.stderr
    return json.loads(ran.stdout)
