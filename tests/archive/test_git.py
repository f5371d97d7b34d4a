"""Any git tool can read a run, and none of them takes anything from it."""

import subprocess
from pathlib import Path

import pytest

from evaluator.evaluation import Outcome
from evolve.archive.archive import Archive
from evolve.archive.reader import RunReader
from evolve.core.errors import MachineError
from tests.archive.small_run import IDENTITY, answer, ask, evolve_on, git, record


def _texts(path: Path) -> list[str]:
    with RunReader.open(path) as archive:
        attempts = [attempt for generation in archive.statuses for attempt in archive.attempts(generation)]
        names = [name for attempt in attempts for name in (attempt.prompt, attempt.answer) if name is not None]
        return [archive.files(p).only + archive.patch_text(p) for p in archive.programs] + [
            archive.text(n) for n in names
        ]


def test_git_finds_nothing_wrong_and_the_history_reads_well(make_run) -> None:
    path = make_run(generations=7)
    git(path, "fsck", "--strict", "--full")
    subjects = git(path, "log", "--format=%s", "best").splitlines()
    assert subjects == [
        "gen 2: swap_two (23.5000, 1 better)",
        "gen 1: swap_two (22.5000, 1 better)",
        "gen 0: swap_two (21.5000)",
    ]
    assert git(path, "log", "-1", "--format=%s", "gen/5") == "gen 5: swap_two (exception)\n"
    assert git(path, "show", "gen/2:program.py") == "def place():\n    return 2\n"
    assert git(path, "show", "gen/2:patch.txt") == "patch 2.1"
    assert git(path, "log", "-1", "--format=%an <%ae> %cn %aI", "gen/2") == (
        "evolve <evolve@localhost> evolve 2026-01-01T00:00:02+00:00\n"
    )
    trailers = git(path, "log", "-1", "--format=%(trailers:only,unfold)", "gen/2").strip().splitlines()
    assert trailers[:6] == ["Generation: 2", "Island: 0", "Kind: diff", "Model: offline", "Outcome: ok", "Score: 23.5"]
    assert trailers[6] == f"Inspiration: {git(path, 'rev-parse', 'gen/0').strip()}"


def test_tags_and_branches_name_programs_and_their_bests(make_run) -> None:
    path = make_run(generations=7)
    with RunReader.open(path) as archive:
        assert archive.best is not None
        expected = {f"refs/tags/gen/{p.generation}": p.commit for p in archive.programs}
        best = archive.best.commit
    shown = dict(line.split() for line in git(path, "for-each-ref", "--format=%(refname) %(objectname)").splitlines())
    attempts = shown.pop("refs/evolve/attempts")
    certificates = shown.pop("refs/evolve/certificates")
    assert git(path, "show", f"{certificates}:answers.json") == '[\n[0, 1],\n{"a": null}\n]\n'
    assert shown == expected | {"refs/heads/best": best}
    assert git(path, "symbolic-ref", "HEAD") == "refs/heads/best\n"
    names = git(path, "ls-tree", "--name-only", attempts).split()
    assert len(names) == 2 * 8, "8 questions, each with a prompt and an answer"
    assert names[-2:] == ["000014-patch-6-0-prompt.txt", "000015-patch-6-0-answer.txt"]
    assert git(path, "show", *(f"{attempts}:{name}" for name in names[-2:])) == "improve it: 6.0patch 6.0"


def test_commits_keep_every_prompt_and_answer_in_blocks_and_follow_from_the_journal(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with Archive.create(run, config_text="", identity=IDENTITY) as archive:
        record(archive, 0)
        for generation in range(1, 200):
            ask(archive, generation, prompt=f"question {generation}")
            answer(archive, generation, text=f"answer {generation}")
    refs = git(run, "for-each-ref")
    assert git(run, "rev-list", "--count", "refs/evolve/attempts") == "2\n", "a whole block of 256, and the rest"
    for commit, first, last in (("refs/evolve/attempts~1", 0, 255), ("refs/evolve/attempts", 256, 397)):
        names = git(run, "ls-tree", "--name-only", commit).split()
        assert (names[0][:6], names[-1][:6], len(names)) == (f"{first:06}", f"{last:06}", last - first + 1)
    assert git(run, "show", "refs/evolve/attempts:000397-patch-199-0-answer.txt") == "answer 199"
    git(run, "update-ref", "-d", "refs/evolve/attempts")
    Archive.open(run).close()
    assert git(run, "for-each-ref") == refs
    git(run, "fsck", "--strict")


def test_collecting_garbage_and_cloning_lose_nothing(make_run, tmp_path: Path) -> None:
    path = make_run(generations=7)
    with Archive.open(path) as archive:
        ask(archive, 7, prompt="in flight")
        ask(archive, 8, prompt="answered")
        answer(archive, 8, text="not judged yet")
        before = archive.reader.fingerprint()
    texts = _texts(path)
    git(path, "gc", "-q", "--prune=now")
    assert not any((path / "programs.git" / "objects").glob("[0-9a-f][0-9a-f]/*")), "all packed"
    assert _texts(path) == texts
    with Archive.open(path) as archive:
        assert archive.reader.fingerprint() == before
        child = record(archive, 8, parents=(archive.reader.programs[0].commit,), source="new\n")
        assert archive.reader.files(child).only == "new\n"
    git(path, "fsck", "--strict")
    mirror = tmp_path / "mirror.git"
    git(path, "clone", "-q", "--mirror", ".", str(mirror))
    (path / "programs.git").rename(path / "old.git")
    mirror.rename(path / "programs.git")
    assert set(texts) <= set(_texts(path))


def test_a_reader_goes_on_when_garbage_is_collected_meanwhile(make_run) -> None:
    path = make_run(generations=4)
    with RunReader.open(path) as archive:
        first = archive.files(archive.programs[0]).only
        git(path, "gc", "-q", "--prune=now")
        assert archive.files(archive.programs[0]).only == first
        assert [archive.files(program).only for program in archive.programs]


def test_the_users_git_settings_change_nothing(write_run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = write_run("plain", generations=4)
    template = tmp_path / "template"
    (template / "hooks").mkdir(parents=True)
    (template / "hooks" / "update").write_text("#!/bin/sh\nexit 1\n")
    config = tmp_path / "gitconfig"
    config.write_text(
        f"[user]\n\tname = Somebody\n[init]\n\tdefaultBranch = trunk\n\ttemplateDir = {template}\n"
        "\tdefaultObjectFormat = sha256\n\tdefaultRefFormat = reftable\n[commit]\n\tgpgSign = true\n"
    )
    for key, value in {
        "GIT_CONFIG_GLOBAL": str(config),
        "GIT_AUTHOR_NAME": "Somebody",
        "GIT_DIR": str(tmp_path / "nowhere"),
        "GIT_DEFAULT_HASH": "sha256",
        "TZ": "Asia/Tokyo",
    }.items():
        monkeypatch.setenv(key, value)
    other = write_run("other", generations=4)
    monkeypatch.delenv("GIT_DIR")
    assert git(other, "for-each-ref") == git(plain, "for-each-ref")
    subprocess.run(["diff", "-r", other / "programs.git", plain / "programs.git"], check=True)


def test_without_git_one_sentence_says_so(make_run, monkeypatch: pytest.MonkeyPatch) -> None:
    run = make_run(generations=3)
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(MachineError, match="git is not installed"):
        _texts(run)


def test_commits_of_children_follow_those_of_their_parents(folder: Path) -> None:
    with Archive.create(folder, config_text="", identity=IDENTITY) as archive:
        one = record(archive, 0)
        ask(archive, 1)
        answer(archive, 1)
        two = record(archive, 1, parents=(one.commit,), source="2")
        ask(archive, 2)
        answer(archive, 2)
        three = record(archive, 2, parents=(two.commit, one.commit), source="3", outcome=Outcome.CRASH)
    assert git(folder, "log", "-1", "--format=%P", three.commit).split() == [two.commit, one.commit]


def test_a_small_change_does_not_read_as_none(folder: Path) -> None:
    with Archive.create(folder, config_text="", identity=IDENTITY) as archive:
        one = record(archive, 0, score=26.0)
        for generation, score in ((1, 26.0 + 2e-7), (2, 26.0), (3, 25.5)):
            ask(archive, generation)
            answer(archive, generation)
            record(archive, generation, parents=(one.commit,), score=score, source=str(generation))
    scores = [git(folder, "log", "-1", "--format=%s", f"gen/{n}").partition("(")[2].strip() for n in (1, 2, 3)]
    assert scores == ["26.0000, 2e-07 better)", "26.0000, the same)", "25.5000, 0.5000 worse)"]


def test_a_run_looks_the_same_whatever_it_is_called_and_wherever_it_stands(write_run, tmp_path: Path) -> None:
    one, two = write_run("one", generations=5), write_run("deep/down/two", generations=5)
    assert git(one, "for-each-ref") == git(two, "for-each-ref")
    with RunReader.open(one) as first, RunReader.open(two) as second:
        assert first.fingerprint() == second.fingerprint()
    subprocess.run(["diff", "-r", one / "programs.git", two / "programs.git"], check=True)
    with Archive.create(tmp_path / "three", config_text="", identity=IDENTITY) as third:
        evolve_on(third, 5, prompts=False)
        with RunReader.open(one) as first:
            assert third.reader.fingerprint() != first.fingerprint(), "other prompts are another run"
