"""What bests answered stands in git, named by the journal, and changes nothing else of a run."""

import subprocess
from pathlib import Path

import journals
import pytest

from evolve.archive.archive import Archive
from evolve.archive.reader import RunReader
from evolve.archive.refs import CERTIFICATES
from evolve.core.errors import ArchiveError
from tests.archive.small_run import IDENTITY, answer, record
from tests.builders import make_question

FIRST, BETTER = ("[0]", "1.5"), ("[1]", '"two"')


def written(folder: Path, *, initial: tuple[str, ...] | None, better: tuple[str, ...] | None) -> str:
    """A run of an initial program, a better one and a worse one; its fingerprint."""
    with Archive.create(folder, config_text="seed: 0\n", identity=IDENTITY) as archive:
        record(archive, 0, answers=initial)
        for generation, score in ((1, 23.0), (2, 22.0)):
            archive.asked(make_question(generation, archive.reader.programs[:1], model="offline"), None)
            answer(archive, generation)
            parents = (archive.reader.programs[0].commit,)
            record(archive, generation, score=score, parents=parents, answers=better)
        return archive.reader.fingerprint()


def git(folder: Path, *words: str) -> str:
    command = ["git", "--git-dir", str(folder / "programs.git"), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_those_of_the_bests_are_kept_and_read_again(folder: Path) -> None:
    written(folder, initial=FIRST, better=BETTER)
    with RunReader.open(folder) as archive:
        assert [archive.answers(program) for program in archive.programs] == [[[0], 1.5], [[1], "two"], None]
    named = [event.get("certificate") for event in journals.events_of(folder / "journal.jsonl")]
    assert [commit for commit in named if commit] == git(folder, "rev-list", "--reverse", CERTIFICATES).split()
    assert git(folder, "show", f"{CERTIFICATES}:answers.json") == '[\n[1],\n"two"\n]'
    git(folder, "fsck", "--strict")


def test_nothing_else_of_a_run_depends_on_them(tmp_path: Path) -> None:
    """A program may answer otherwise, at equal costs, on another machine."""
    runs = {"kept": (FIRST, BETTER), "others": (BETTER, FIRST), "none": (None, None)}
    found = {written(tmp_path / name, initial=one, better=two) for name, (one, two) in runs.items()}
    assert len(found) == 1
    commits = {git(tmp_path / name, "rev-list", "best") for name in runs}
    assert len(commits) == 1


def test_opening_puts_the_ref_back(folder: Path) -> None:
    written(folder, initial=FIRST, better=BETTER)
    before = git(folder, "rev-parse", CERTIFICATES)
    git(folder, "update-ref", "-d", CERTIFICATES)
    Archive.open(folder).close()
    assert git(folder, "rev-parse", CERTIFICATES) == before


@pytest.mark.parametrize("broken", ["{", "NaN", "1e999", "[" * 100_000])
def test_what_is_no_answer_is_one_sentence(folder: Path, broken: str) -> None:
    written(folder, initial=(broken, "1"), better=None)
    with RunReader.open(folder) as archive, pytest.raises(ArchiveError, match="holds no answers"):
        archive.answers(archive.programs[0])


def test_a_lost_certificate_is_an_error_when_it_is_read(folder: Path) -> None:
    written(folder, initial=FIRST, better=BETTER)

    def forge(event: dict[str, object]) -> None:
        if "certificate" in event:
            event["certificate"] = "0" * 40

    journals.rewrite(folder / "journal.jsonl", forge)
    with RunReader.open(folder) as archive:
        assert archive.best is not None
        with pytest.raises(ArchiveError, match="is missing"):
            archive.answers(archive.best)


def test_a_certificate_that_is_no_id_is_refused(folder: Path) -> None:
    written(folder, initial=FIRST, better=BETTER)

    def forge(event: dict[str, object]) -> None:
        if "certificate" in event:
            event["certificate"] = "../../etc/passwd"

    journals.rewrite(folder / "journal.jsonl", forge)
    with pytest.raises(ArchiveError, match="certificate"):
        RunReader.open(folder)
