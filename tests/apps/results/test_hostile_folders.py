"""A hostile result folder does no harm: nothing outside is read or written, nothing is run, nothing waits."""

from pathlib import Path

import pytest

from evolve.apps.results.folder import read_results
from evolve.core.errors import InputError
from tests.apps.results.hostile_folders import HOSTILE, SECRET, everything_in


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_folder_does_no_harm(tmp_path: Path, name: str) -> None:
    folder, outside = tmp_path / "results", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    (outside / "secret.py").write_text(f"{SECRET} = 1\n")
    (outside / "secret.json").write_text(f'{{"id": "{SECRET}", "code": "{SECRET}", "combined_score": 4711.0}}')
    HOSTILE[name](folder, outside)
    before = everything_in(tmp_path)
    try:
        results = read_results(folder)
    except InputError as refused:
        assert str(folder) in str(refused)
        assert "\n" not in str(refused)
    else:
        assert len({program.id for program in results.programs}) == len(results.programs) > 0
        assert SECRET not in repr(results)
        assert all(program.claimed.score != 4711.0 for program in results.programs)
        for note in [*results.notes, *(note for program in results.programs for note in program.claimed.notes)]:
            assert note.isprintable()
    assert everything_in(tmp_path) == before


def test_there_are_fifty_hostile_folders() -> None:
    assert len(HOSTILE) >= 50
