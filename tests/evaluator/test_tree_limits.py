"""The limits of a process tree hold for all of its processes together; what they are over is what is said."""

import textwrap
from pathlib import Path
from typing import Any

import pytest
from trees import at_one_level, by_one_user, marked, run, run_as, strong

from evaluator.evaluation import Outcome

SPIN = "import time\ndef spin(s):\n    end = time.process_time() + s\n    while time.process_time() < end: pass\n"


def script(text: str) -> str:
    return SPIN + textwrap.dedent(text)


@at_one_level
def test_cpu_time_is_that_of_all_processes(level: str) -> None:
    """No process of these takes more than half of the limit that they exceed together."""
    text = script(
        """
        import os
        for _ in range(4):
            if os.fork() == 0:
                spin(0.15)
                os._exit(0)
        for _ in range(4):
            os.wait()
        spin(0.1)
        """
    )
    assert run(level, text).outcome is Outcome.OK
    ending = run(level, text, cpu_total_s=0.5)
    assert ending.outcome is Outcome.CPU_LIMIT
    assert ending.detail == "over the limit of 0.5 s CPU of all its processes"
    assert ending.result is None


@at_one_level
@pytest.mark.parametrize("way", ["ignored", "orphaned", "in threads", "nested"])
def test_no_way_of_making_processes_hides_their_time(level: str, way: str) -> None:
    """Children of a parent that ignores SIGCHLD are in nobody's account; orphans are adopted."""
    text = {
        "ignored": """
            import os, signal
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
            for _ in range(60):
                if os.fork() == 0:
                    spin(0.05)
                    os._exit(0)
                try: os.wait()
                except ChildProcessError: pass
        """,
        "orphaned": """
            import os
            for _ in range(60):
                if os.fork() == 0:
                    if os.fork() == 0:
                        spin(0.05)
                    os._exit(0)
                os.wait()
            time.sleep(60)
        """,
        "in threads": """
            import threading
            workers = [threading.Thread(target=sum, args=(range(10**9),)) for _ in range(4)]
            [worker.start() for worker in workers]
        """,
        "nested": """
            import os
            for _ in range(40):
                if os.fork() == 0:
                    if os.fork() == 0:
                        spin(0.05)
                        os._exit(0)
                    os.wait()
                    spin(0.05)
                    os._exit(0)
                os.wait()
        """,
    }[way]
    ending = run(level, script(text), cpu_total_s=0.5)
    assert ending.outcome is Outcome.CPU_LIMIT, ending


@at_one_level
def test_children_that_nobody_waits_for_count_when_they_end_in_order(level: str) -> None:
    """Ends that are seen before they happen, however short the life was: each takes 0.01 s, together 0.5 s."""
    text = script(
        """
        import os, signal
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        for _ in range(50):
            if os.fork() == 0:
                spin(0.01)
                os._exit(0)
            try: os.wait()
            except ChildProcessError: pass
        """
    )
    assert run(level, text).outcome is Outcome.OK
    assert run(level, text, cpu_total_s=0.35).outcome is Outcome.CPU_LIMIT


@at_one_level
def test_what_was_waited_for_counts_once_however_soon_its_parent_ends(level: str) -> None:
    """Whether a look falls between the ends is chance, so there are several runs. Each takes little more than 0.2 s."""
    text = script(
        """
        import os
        for _ in range(2):
            if os.fork() != 0:
                os.wait()
                os._exit(0)
        spin(0.2)
        """
    )
    assert {run(level, text, cpu_total_s=0.38).outcome for _ in range(3)} == {Outcome.OK}


@at_one_level
def test_a_time_out_ends_what_forked_and_detached(level: str) -> None:
    marker = f"evolve-tree-marker-{level}-detached"
    text = script(
        f"""
        import os, subprocess, sys
        for _ in range(3):
            if os.fork() == 0:
                os.setsid()
                if os.fork():
                    os._exit(0)
                subprocess.Popen(["/bin/sleep", "997"], start_new_session=True)
                os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(998)", "{marker}"])
        time.sleep(999)
        """
    )
    ending = run(level, text, wall_s=2.0)
    assert ending.outcome is Outcome.TIMEOUT
    assert ending.detail == "over the limit of 2 s of wall time"
    assert marked(marker) == []


@at_one_level
def test_children_do_not_outlive_the_command(level: str) -> None:
    marker = f"evolve-tree-marker-{level}-background"
    text = "import subprocess, sys\n"
    text += f"subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(996)', '{marker}'])\n"
    ending = run(level, text + "open('result', 'w').write('done')")
    assert (ending.outcome, ending.result) == (Outcome.OK, b"done")
    assert marked(marker) == []


@at_one_level
def test_of_a_long_output_the_end_is_kept(level: str) -> None:
    ending = run(level, "import sys\nfor n in range(50):\n    print('x' * (1 << 20))\nprint('the end')\n")
    assert ending.outcome is Outcome.OK
    assert len(ending.output) == 64 * 1024
    assert ending.output.endswith("x\nthe end\n")


@at_one_level
def test_a_result_that_is_too_large_is_the_only_output_limit(level: str) -> None:
    ending = run(level, "open('result', 'wb').write(bytes((1 << 20) + 1))")
    assert (ending.outcome, ending.result) == (Outcome.OUTPUT_LIMIT, None)


MEMORY = {
    "in one of five children": """
        import os, time
        for n in range(5):
            if os.fork() == 0:
                try:
                    held = bytearray((2 << 30) if n == 3 else (1 << 20))
                except MemoryError:
                    print("MemoryError", flush=True)
                    os._exit(7)
                time.sleep(3)
                os._exit(0)
        print(sorted(os.waitstatus_to_exitcode(os.wait()[1]) for _ in range(5)))
    """,
    "a little in each of eight": """
        import os, time
        for n in range(8):
            if os.fork() == 0:
                held = [bytearray(b"x" * (1 << 20)) for _ in range(100) if not time.sleep(0.05)]
                time.sleep(50)
        time.sleep(60)
    """,
    "in files in memory": """
        import mmap, time
        held = []
        for n in range(40):
            file = open(f"f{n}", "w+b")
            file.truncate(16 << 20)
            mapped = mmap.mmap(file.fileno(), 16 << 20)
            mapped.write(b"x" * (16 << 20))
            held.append(bytearray(b"x" * (8 << 20)))
            time.sleep(0.05)
        time.sleep(60)
    """,
}


@at_one_level
def test_one_process_that_wants_too_much_gets_a_memory_error(level: str) -> None:
    ending = run(level, textwrap.dedent(MEMORY["in one of five children"]))
    assert ending.outcome is Outcome.OK
    assert "MemoryError" in ending.output
    assert "[0, 0, 0, 0, 7]" in ending.output
    assert ending.peak_memory_mb < 1.1 * 512


@by_one_user
@at_one_level
def test_memory_is_that_of_all_processes(level: str, user: int) -> None:
    ending = run_as(user, level, textwrap.dedent(MEMORY["a little in each of eight"]))
    assert ending["outcome"] == "oom"
    assert 512 < ending["peak_memory_mb"] < 1.1 * 512
    assert ending["detail"] == "over the limit of 512 MB of memory of all its processes"


@pytest.mark.parametrize("level", [strong])
def test_files_in_memory_count_as_memory(level: str) -> None:
    ending = run(level, textwrap.dedent(MEMORY["in files in memory"]), scratch_mb=1000)
    assert ending.outcome is Outcome.OOM
    assert ending.peak_memory_mb < 1.1 * 512


@at_one_level
def test_what_the_kernel_holds_in_sockets_counts_as_memory(level: str) -> None:
    text = """
        import os, socket, time
        for _ in range(8):
            if os.fork() == 0:
                held = []
                for _ in range(400):
                    held.append(socket.socketpair())
                    held[-1][0].setblocking(False)
                    try:
                        while True: held[-1][0].send(bytes(1 << 16))
                    except BlockingIOError: pass
                time.sleep(60)
        time.sleep(60)
    """
    if Path("/proc/self/fd").stat().st_size == 0:
        pytest.skip("this kernel does not say how many descriptors a process has")
    ending = run(level, textwrap.dedent(text))
    assert ending.outcome is Outcome.OOM, ending


@at_one_level
def test_memory_that_processes_share_counts_once(level: str) -> None:
    text = """
        import os, time
        held = b"x" * (300 << 20)
        for _ in range(4):
            if os.fork() == 0:
                time.sleep(1)
                os._exit(0)
        for _ in range(4):
            os.wait()
    """
    ending = run(level, textwrap.dedent(text))
    assert ending.outcome is Outcome.OK, ending


@by_one_user
@at_one_level
def test_there_are_never_more_than_512_processes(level: str, user: int) -> None:
    text = """
        import os, time
        alive = 0
        try:
            while alive < 2000:
                if os.fork() == 0:
                    time.sleep(100)
                    os._exit(0)
                alive += 1
        except BlockingIOError as refusal:
            print(alive, refusal.strerror)
    """
    ending = run_as(user, level, textwrap.dedent(text), memory_mb=4096)
    assert ending["outcome"] == "ok", ending
    alive, _, why = ending["output"].partition(" ")
    assert 100 < int(alive) <= 511
    assert "Resource temporarily unavailable" in why


@by_one_user
@at_one_level
def test_a_fork_bomb_meets_its_limits_and_leaves_nothing(level: str, user: int) -> None:
    marker = f"evolve-tree-marker-{level}-{user}-bomb"
    text = f"""
        import os, sys
        if len(sys.argv) == 1:
            os.execv(sys.executable, [sys.executable, sys.argv[0], "{marker}"])
        while True:
            try:
                if os.fork() == 0:
                    os.setsid()
            except OSError:
                pass
    """
    ending = run_as(user, level, textwrap.dedent(text), cpu_total_s=0.5, wall_s=20.0, memory_mb=8192)
    assert ending["outcome"] in ("cpu_limit", "timeout")
    assert marked(marker) == []


SCRATCH: dict[str, Any] = {
    "one file": "open('f', 'wb').write(bytes(100 << 20))",
    "many files": "for n in range(50): open(f'f{n}', 'wb').write(bytes(2 << 20)); time.sleep(0.01)",
    "files without a name": """
held = []
for n in range(50):
    held.append(open(f'f{n}', 'wb'))
    os.unlink(f'f{n}')
    held[-1].write(bytes(2 << 20))
    held[-1].flush()
    time.sleep(0.02)
""",
    "mapped files without a name": """
import mmap
held = []
for n in range(50):
    fd = os.open(f'f{n}', os.O_RDWR | os.O_CREAT)
    os.unlink(f'f{n}')
    os.ftruncate(fd, 2 << 20)
    os.write(fd, bytes(2 << 20))
    libc.mmap(None, 4096, 1, 1, fd, 0)
    os.close(fd)
    time.sleep(0.02)
""",
    "folders that cannot be read": """
for n in range(50):
    os.mkdir(f'd{n}', 0o300)
    open(f'd{n}/f', 'wb').write(bytes(2 << 20))
    time.sleep(0.02)
""",
    "names": "for n in range(10**6): os.mkdir(f'd{n}')",
    "depth": """
for n in range(1500):
    os.mkdir('d')
    os.chdir('d')
""",
}


@pytest.mark.parametrize("way", SCRATCH)
@at_one_level
def test_the_scratch_folder_has_an_end(level: str, way: str) -> None:
    """The kernel says so to the program, or the tree is ended; however, nothing of it stays."""
    text = f"import ctypes, os, time\nlibc = ctypes.CDLL(None)\n{SCRATCH[way]}\ntime.sleep(2)\n"
    ending = run(level, text, scratch_mb=8 if way in ("names", "depth") else 64)
    if way == "depth" and level == "strong":
        assert ending.outcome is Outcome.OK, ending  # it takes little room, and goes with the mount
        return
    assert ending.outcome in (Outcome.EXITED, Outcome.CRASH), ending
    if ending.outcome is Outcome.EXITED:
        assert "No space left on device" in ending.output or "File too large" in ending.output
    else:
        assert "scratch folder" in ending.detail
