"""`evolve patch`, as a person or a script calls it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from evolve.cli.main import main

PROGRAM = b"# EVOLVE-BLOCK-START\r\ndef f():\r\n    return 1\r\n# EVOLVE-BLOCK-END\r\n"
GOOD = "<DIFF>\n<<<<<<< SEARCH\n    return 1\n=======\n    return 'ä\x1b'\n>>>>>>> REPLACE\n</DIFF>\n"


Patch = Callable[..., tuple[int, bytes, bytes]]


@pytest.fixture
def evolve_patch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Patch:
    """Runs the command in the test's own folder: its exit code, what it wrote on stdout, and on stderr."""
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> tuple[int, bytes, bytes]:
        try:
            code = main(["patch", *words])
        except SystemExit as end:  # of a command line that cannot be read
            assert isinstance(end.code, int)
            code = end.code
        return code, *capfdbinary.readouterr()

    return call


def write(folder: Path, answer: str, program: bytes = PROGRAM) -> None:
    (folder / "program.py").write_bytes(program)
    (folder / "answer.txt").write_bytes(answer.encode())


def test_the_new_source_goes_to_stdout_byte_for_byte_or_to_a_file(tmp_path: Path, evolve_patch: Patch) -> None:
    write(tmp_path, GOOD)
    expected = PROGRAM.replace(b"1", "'ä\x1b'".encode())
    assert evolve_patch("program.py", "answer.txt") == (0, expected, b"")
    assert evolve_patch("program.py", "answer.txt", "-o", "new.py") == (0, b"", b"")
    assert (tmp_path / "new.py").read_bytes() == expected
    assert (tmp_path / "program.py").read_bytes() == PROGRAM


def test_a_file_is_overwritten_only_when_forced(tmp_path: Path, evolve_patch: Patch) -> None:
    write(tmp_path, GOOD)
    (tmp_path / "new.py").write_text("mine")
    code, _, err = evolve_patch("program.py", "answer.txt", "-o", "new.py")
    assert code == 2
    assert b"new.py exists already" in err
    assert b"--force" in err
    assert (tmp_path / "new.py").read_text() == "mine"
    assert evolve_patch("program.py", "answer.txt", "-o", "new.py", "--force")[0] == 0
    assert (tmp_path / "new.py").read_bytes() != b"mine"


def test_a_refused_patch_ends_with_1_and_the_reason_and_writes_nothing(tmp_path: Path, evolve_patch: Patch) -> None:
    write(tmp_path, GOOD.replace("return 1", "return \x1b[31m"))
    code, out, err = evolve_patch("program.py", "answer.txt", "-o", "new.py")
    assert (code, out) == (1, b"")
    assert b"no_match" in err
    assert b"\\x1b[31m" in err
    assert b"\x1b" not in err
    assert not (tmp_path / "new.py").exists()


def test_files_that_cannot_be_used_end_with_2_and_one_sentence(tmp_path: Path, evolve_patch: Patch) -> None:
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
        code, out, err = evolve_patch(*words)
        assert (code, out) == (2, b""), words
        assert says in err
        assert err.count(b"\n") == 1


def test_a_program_of_another_language_is_patched_and_its_syntax_is_its_compilers_affair(
    tmp_path: Path, evolve_patch: Patch
) -> None:
    (tmp_path / "program.rs").write_bytes(b"// EVOLVE-BLOCK-START\nlet x = 1;\n// EVOLVE-BLOCK-END\n")
    (tmp_path / "answer.txt").write_bytes(b"<<<<<<< SEARCH\nlet x = 1;\n=======\nlet x = (2;\n>>>>>>> REPLACE\n")
    patched = b"// EVOLVE-BLOCK-START\nlet x = (2;\n// EVOLVE-BLOCK-END\n"
    assert evolve_patch("program.rs", "answer.txt") == (0, patched, b"")
    (tmp_path / "program.py").write_bytes(b"x = 1\n")
    (tmp_path / "answer.txt").write_bytes(b"<<<<<<< SEARCH\nx = 1\n=======\nx = (2\n>>>>>>> REPLACE\n")
    code, _, err = evolve_patch("program.py", "answer.txt")
    assert code == 1
    assert b"invalid_python" in err
