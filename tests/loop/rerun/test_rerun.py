"""A whole run again from its record: equal, with no network and no key; or where it parts, and why."""

import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.loop.climbing import finish, in_fork, kill, opened, wait_until
from tests.loop.rerun.busy import Busy, busy_config
from tests.loop.rerun.calling import NAMESPACE, rerun
from tests.loop.rerun.tampering import change_answer, events
from tests.openai_server import OpenAIServer


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the run `r`: 32 generations, eight in flight, killed in the middle."""
    folder = tmp_path_factory.mktemp("busy")
    busy = Busy(hold_from=24)
    with OpenAIServer(default=busy) as server:
        process = in_fork(folder, "run", busy_config(folder, server), "--name", "r")
        wait_until(busy.holding.is_set, process)
        kill(process)  # while an answer is awaited
        busy.go_on.set()
        finish(folder, "resume", "r", "--generations", "32")
    return folder


def test_the_run_has_in_it_what_the_claims_are_about(busy: Path) -> None:
    journal = events(busy / "runs" / "r")
    names = Counter(event["event"] for event in journal)
    assert names["resumed"] == 1
    assert names["lost"] >= 1
    assert max(event["generation"] for event in journal if event["event"] == "asked") == 32
    assert {event["model"] for event in journal if event["event"] == "asked"} == {"left", "right"}
    assert names["meta_answered"] >= 4
    assert names["summarised"] >= 2
    assert sum(e["event"] == "called" and e["phase"] == "failed" for e in journal) >= 5
    reasons = Counter(event["reason"] for event in journal if event["event"] == "refused")
    assert reasons["no_patch"] >= 1
    assert names["evaluated"] >= 16


@pytest.mark.parametrize(
    ("workers", "within"),
    [pytest.param("1", (), marks=pytest.mark.slow), ("3", NAMESPACE)],
    ids=["no socket", "no network"],
)
def test_the_whole_run_comes_again_without_network_or_key(busy: Path, workers: str, within: Sequence[str]) -> None:
    if within and not (shutil.which(within[0]) and subprocess.run([*within, "true"], check=False).returncode == 0):
        pytest.skip("this machine lets no user make a network namespace")
    before = listing(busy / "runs" / "r")
    output = rerun(busy, "r", "--workers", workers, within=within)
    with opened(busy) as archive:
        fingerprint = archive.fingerprint()
        programs = len(archive.programs)
    assert output["fingerprint"] == {"recorded": fingerprint, "found": fingerprint}
    assert (output["equal"], output["parted"], output["generations"]) == (True, None, 32)
    assert output["verdicts"]["exact"] == programs
    assert output["questions_as_recorded"] == output["verdicts"]["as_recorded"] == output["verdicts"]["within"] == 0
    assert listing(busy / "runs" / "r") == before  # it was only read


def listing(folder: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path.relative_to(folder)): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.slow
def test_an_archive_that_is_kept_is_one_like_any_other(busy: Path, tmp_path: Path) -> None:
    output = rerun(busy, "r", "-o", str(tmp_path / "again"))
    assert output["kept"] == str(tmp_path / "again")
    made, recorded = (events(folder) for folder in (tmp_path / "again", busy / "runs" / "r"))
    assert [event["event"] for event in made] == [event["event"] for event in recorded]
    (tmp_path / "runs").mkdir()
    (tmp_path / "again").rename(tmp_path / "runs" / "r")
    with opened(tmp_path) as archive, opened(busy) as source:
        assert archive.fingerprint() == source.fingerprint()
        assert archive.spent == source.spent
        assert [archive.files(record).only for record in archive.programs] == [
            source.files(record).only for record in source.programs
        ]
    assert rerun(tmp_path, "r")["equal"]  # an archive that was made so can be made so again


@pytest.mark.parametrize("which", [pytest.param(5, marks=pytest.mark.slow), 30])
def test_a_changed_answer_is_found_where_it_is(busy: Path, tmp_path: Path, which: int) -> None:
    (tmp_path / "runs").mkdir()
    shutil.copytree(busy / "runs" / "r", tmp_path / "runs" / "r")
    with opened(tmp_path) as archive:
        good = [r.generation for r in archive.programs if r.generation and r.origin.patch_name.startswith("step_")]
        chosen = good[which * len(good) // 60]
    change_answer(tmp_path / "runs" / "r", chosen, "OFFSET -= ", "OFFSET -= 0.001 + ")
    with opened(tmp_path) as archive:  # the record holds together
        assert "0.001 + " in archive.text(archive.attempts(chosen)[-1].answer or "")
    output = rerun(tmp_path, "r", code=1)
    assert output["equal"] is False
    assert output["parted"]["generation"] == chosen
    assert output["parted"]["what"] == "its program differs"
