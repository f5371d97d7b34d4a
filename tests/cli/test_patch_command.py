"""`evolve patch`, as a person or a script calls it."""

import subprocess
import sys
from pathlib import Path

PROGRAM = b"# EVOLVE-BLOCK-START\r\ndef f():\r\n    return 1\r\n# EVOLVE-BLOCK-END\r\n"
GOOD = "<DIFF>\n<<<<<<< SEARCH\n    return 1\n=======\n    return 'ä\x1b'\n>>>>>>> REPLACE\n</DIFF>\n"


def evolve_patch(folder: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "evolve", "patch", *words], cwd=folder, capture_output=True, check=False
    )


def write(folder: Path, answer: str, program: bytes = PROGRAM) -> None:
    (folder / "program.py").write_bytes(program)
    (folder / "answer.txt").write_bytes(answer.encode())


def test_the_new_source_goes_to_stdout_byte_for_byte_or_to_a_file(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    expected = PROGRAM.replace(b"1", "'ä\x1b'".encode())
    ran = evolve_patch(tmp_path, "program.py", "answer.txt")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, expected, b"")
    ran = evolve_patch(tmp_path, "program.py", "answer.txt", "-o", "new.py")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")
    assert (tmp_path / "new.py").read_bytes() == expected
    assert (tmp_path / "program.py").read_bytes() == PROGRAM


def test_a_file_is_overwritten_only_when_forced(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    (tmp_path / "new.py").write_text("mine")
    ran = evolve_patch(tmp_path, "program.py", "answer.txt", "-o", "new.py")
    assert ran.returncode == 2
    assert b"new.py exists already" in ran.stderr
    assert b"--force" in ran.stderr
    assert (tmp_path / "new.py").read_text() == "mine"
    assert evolve_patch(tmp_path, "program.py", "answer.txt", "-o", "new.py", "--force").returncode == 0
    assert (tmp_path / "new.py").read_bytes() != b"mine"


def test_a_refused_patch_ends_with_1_and_the_reason_and_writes_nothing(tmp_path: Path) -> None:
    write(tmp_path, GOOD.replace("return 1", "return \x1b[31m"))
    ran = evolve_patch(tmp_path, "program.py", "answer.txt", "-o", "new.py")
    assert (ran.returncode, ran.stdout) == (1, b"")
    assert b"no_match" in ran.stderr
    assert b"\\x1b[31m" in ran.stderr
    assert b"\x1b" not in ran.stderr
    assert not (tmp_path / "new.py").exists()


def test_files_that_cannot_be_used_end_with_2_and_one_sentence(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    (tmp_path / "latin.txt").write_bytes(b"\xe4")
    (tmp_path / "open.py").write_bytes(b"# EVOLVE-BLOCK-START\nx = 1\n")
    for words, says in (
        (("missing.py", "answer.txt"), b"missing.py: cannot be read"),
        (("program.py", "missing.txt"), b"missing.txt: cannot be read"),
        (("program.py", "."), b"cannot be read"),
        (("program.py", "latin.txt"), b"latin.txt: not UTF-8"),
        (("open.py", "answer.txt"), b"open.py: line 1: EVOLVE-BLOCK-START without"),
        (("program.py", "answer.txt", "-o", "no/such/new.py"), b"cannot be written"),
        (("program.py",), b"PATCH_FILE"),
    ):
        ran = evolve_patch(tmp_path, *words)
        assert ran.returncode == 2, words
        assert says in ran.stderr
        assert ran.stdout == b""
        assert ran.stderr.count(b"\n") == 1
