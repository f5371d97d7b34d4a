"""The folder of a process that was killed is removed by the next one, and that of a live process is left alone."""

import os
import subprocess
import sys
from pathlib import Path

OPENED = "from evaluator.repository.own_folder import OwnFolder; import sys\nfolder = OwnFolder(); print(folder.path)\n"
WAITING = OPENED + "sys.stdout.flush(); sys.stdin.read()"


def test_what_a_killed_process_left_is_removed_and_no_other_folder(tmp_path: Path) -> None:
    environment = os.environ | {"TMPDIR": str(tmp_path)}

    def begin() -> subprocess.Popen[str]:
        command = [sys.executable, "-c", WAITING]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True)

    def folder_of(process: subprocess.Popen[str]) -> Path:
        assert process.stdout is not None
        return Path(process.stdout.readline().strip())

    with begin() as live, begin() as killed:
        kept, left = folder_of(live), folder_of(killed)
        killed.kill()
        killed.wait()
        (left / "frozen.tar").write_bytes(b"x")
        closing = [sys.executable, "-c", OPENED + "folder.close(); folder.close()"]
        subprocess.run(closing, env=environment, check=True, capture_output=True)
        assert list(tmp_path.iterdir()) == [kept]
        live.kill()
