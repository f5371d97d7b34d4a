from pathlib import Path


def test_the_source_arrives_byte_for_byte(family, hostile, evolve):
    assert "generation 3, 25.0000" in evolve("export", "family", "best", "-o", "best.py")
    assert Path("best.py").read_bytes() == b"a = 1\nb = 22\nc = 33\n"
    evolve("export", "hostile", "1", "-o", "evil.py")
    assert Path("evil.py").read_bytes().endswith(b"'''\r\n")


def test_a_file_is_overwritten_only_when_forced(family, evolve):
    Path("best.py").write_text("mine")
    assert "--force" in evolve("export", "family", "best", "-o", "best.py", code=2)
    assert Path("best.py").read_text() == "mine"
    evolve("export", "family", "best", "-o", "best.py", "--force")
    assert Path("best.py").read_text() == "a = 1\nb = 22\nc = 33\n"


def test_a_place_that_cannot_be_written_is_one_sentence(family, evolve):
    assert "nowhere/best.py: cannot be written" in evolve("export", "family", "best", "-o", "nowhere/best.py", code=2)
    assert "runs" in evolve("export", "family", "best", "-o", "runs", "--force", code=2)


def test_a_run_without_a_correct_program_has_no_best(empty, evolve):
    assert "no correct program" in evolve("export", "empty", "best", "-o", "x.py", code=2)
    assert not Path("x.py").exists()
