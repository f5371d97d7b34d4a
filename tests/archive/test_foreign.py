"""Somebody else's archive: whatever stands in it is a sentence or a sound archive; nothing outside of it is touched."""

import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evaluator.untrusted import one_line
from evolve.archive.archive import Archive
from evolve.archive.reader import RunReader
from evolve.core.errors import ArchiveError, EvolveError
from tests.archive.small_run import git
from tests.journals import events_of, sealed
from tests.reports import recommending


def _lines(run: Path) -> list[dict[str, Any]]:
    return list(events_of(run / "journal.jsonl"))


def _write(run: Path, events: list[dict[str, Any]]) -> None:
    (run / "journal.jsonl").write_bytes(sealed(events))


def _event(run: Path, name: str) -> int:
    return next(index for index, event in enumerate(_lines(run)) if event["event"] == name)


@pytest.mark.parametrize(
    ("name", "path", "value"),
    [
        ("evaluated", "island", "../../../../evil"),
        ("evaluated", "generation", "../evil"),
        ("evaluated", "generation", True),
        ("evaluated", "generation", 10**30),
        ("evaluated", "commit", "../../x"),
        ("evaluated", "evaluation.combined_score", "26"),
        ("evaluated", "evaluation.costs", ["1/0", "1"]),
        ("evaluated", "evaluation.costs", ["1e999999999", "1"]),
        ("evaluated", "evaluation.costs", ["9" * 5000, "1"]),
        ("evaluated", "evaluation.outcome", "fine"),
        ("evaluated", "evaluation.metrics", {"a": 10**400}),
        ("evaluated", "origin.kind", "evil"),
        ("evaluated", "surprise", 1),
        ("evaluated", "followed", None),
        ("evaluated", "length", True),
        ("evaluated", "origin.surprise", 1),
        ("evaluated", "evaluation.objective.surprise", 1),
        ("evaluated", "evaluation.measured.cpu_ms", [0.5, 1e13]),
        ("evaluated", "evaluation.spread", [2.0, 1.0]),
        ("evaluated", "t", True),
        ("answered", "tokens_cached", 10**6),
        ("refused", "status", "evaluated"),
        ("asked", "island", -1),
        ("asked", "parents", []),
        ("asked", "prompt", "HEAD"),
        ("asked", "position", 0.5),
        ("answered", "finish_reason", "because"),
        ("answered", "tokens_in", -5),
        ("answered", "measured", {}),
        ("created", "run_id", "../x"),
        ("created", "identity", {}),
        ("created", "identity.program", "../../program.py"),
        ("stopped", "reason", "\x1b[2J"),
    ],
)
def test_a_field_of_another_type_or_range_is_named_before_anything_acts_on_it(make_run, name, path, value) -> None:
    run = make_run()
    events = _lines(run)
    index = _event(run, name)
    place = events[index]
    *sections, last = path.split(".")
    for section in sections:
        place = place[section]
    place[last] = value
    _write(run, events)
    before = sorted(run.rglob("*"))
    for opened in (RunReader, Archive):
        with pytest.raises(ArchiveError, match=rf"journal\.jsonl, line {index + 1} is damaged: .*{last}") as caught:
            opened.open(run)
        assert str(caught.value).isprintable()
    assert sorted(run.rglob("*")) == before
    assert not list(run.parent.glob("**/*evil*"))


def test_the_number_of_an_insights_report_is_no_path(make_run) -> None:
    run = make_run()
    with Archive.open(run) as archive:
        archive.summarised(3, recommending("x"))
    events = _lines(run)
    events[_event(run, "summarised")]["programs"] = "../../evil"
    _write(run, events)
    with pytest.raises(ArchiveError, match=r"`programs` is '\.\./\.\./evil', and must be a whole number from 0 to"):
        Archive.open(run)


@pytest.mark.parametrize("name", ["summarising", "summarised", "closed"])
@pytest.mark.parametrize("programs", [0, 999])
def test_an_insights_report_is_about_programs_on_record(make_run, name, programs) -> None:
    run = make_run()
    with Archive.open(run) as archive:
        archive.summarising()
        archive.summarised(3, recommending("x"))
        archive.closed(recommending("x"))
    events = _lines(run)
    events[_event(run, name)]["programs"] = programs
    _write(run, events)
    with pytest.raises(ArchiveError, match=rf"is damaged: {name} for {programs} programs: \d+ are on record"):
        Archive.open(run)


def test_guidance_is_of_an_insights_report_on_record(make_run) -> None:
    run = make_run()
    events = _lines(run)
    events[_event(run, "asked")]["guidance"] = {"document": 2, "recommendation": 1}
    _write(run, events)
    with pytest.raises(ArchiveError, match=r"is damaged: asked for .*: there is no insights report after 2 programs"):
        Archive.open(run)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from([10**400, "../x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path] * bool(path) + [place for key, item in inner for place in _places(item, (*path, key))]


@settings(suppress_health_check=list(HealthCheck))
@given(data=st.data(), value=anything)
def test_any_value_in_any_field_is_a_sentence_or_a_sound_archive(make_run_once, data, value) -> None:
    original, run = make_run_once
    events = json.loads(json.dumps(original))
    index = data.draw(st.integers(0, len(events) - 1))
    *way, last = data.draw(st.sampled_from(_places(events[index])))
    place = events[index]
    for key in way:
        place = place[key]
    place[last] = value
    _write(run, events)
    try:
        with RunReader.open(run) as archive:
            archive.fingerprint()
            for record in archive.programs:
                archive.files(record).only, archive.evaluation(record)
            for generation in archive.statuses:
                archive.attempts(generation), archive.ended_generation(generation), archive.fault(generation)
            archive.unfinished(), archive.spent, archive.funnel
    except EvolveError as refused:
        assert one_line(str(refused), 10_000) == str(refused)  # nothing in it is hostile to a terminal


@pytest.fixture(scope="module")
def make_run_once(tmp_path_factory):
    from tests.archive.small_run import IDENTITY, evolve_on

    run = tmp_path_factory.mktemp("fuzzed") / "run"
    with Archive.create(run, config_text="seed: 0\n", identity=IDENTITY) as archive:
        evolve_on(archive, 7, prompts=True)
    return _lines(run), run


FILES = ["run.yaml", "journal.jsonl", "programs.git/packed-refs", "programs.git/refs/heads/best", "meta/x.md"]


@pytest.mark.parametrize("name", [*FILES, "programs.git/refs/heads/best.lock", "programs.git/objects/aa/link"])
@pytest.mark.parametrize("kind", ["link", "pipe", "socket", "device"])
def test_what_is_no_plain_file_is_refused_and_nothing_is_read_or_written(
    make_run, tmp_path, monkeypatch, name, kind
) -> None:
    run = make_run(generations=2)
    mine = tmp_path / "mine"
    mine.write_text("mine")
    path = run / name
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    if kind == "link":
        path.symlink_to(mine)
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        monkeypatch.chdir(path.parent)
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(path.name)
    else:
        path.symlink_to("/dev/zero")
    for opened in (RunReader, Archive):
        with pytest.raises(ArchiveError, match=r"is (a link|a named pipe|a socket), where a file or folder of the run"):
            opened.open(run)
    assert mine.read_text() == "mine"


@pytest.mark.parametrize("name", ["programs.git", "programs.git/objects", "programs.git/refs/heads", "meta"])
def test_a_folder_that_is_a_link_is_refused(make_run, tmp_path, name) -> None:
    run = make_run(generations=2)
    elsewhere = tmp_path / "elsewhere"
    if (run / name).exists():
        shutil.move(run / name, elsewhere)
    elsewhere.mkdir(exist_ok=True)
    (run / name).symlink_to(elsewhere)
    with pytest.raises(ArchiveError, match="is a link, where a file or folder of the run"):
        Archive.open(run)


def test_the_run_itself_may_be_a_link_and_a_link_that_is_not_ours_is_let_alone(make_run, tmp_path) -> None:
    run = make_run(generations=2)
    (run / "notes").symlink_to("/dev/zero")
    (tmp_path / "linked").symlink_to(run)
    with Archive.open(tmp_path / "linked") as archive:
        assert archive.reader.files(archive.reader.programs[0]).only


def test_objects_are_not_borrowed_from_elsewhere(make_run, tmp_path) -> None:
    run = make_run(generations=2)
    (run / "programs.git/objects/info/alternates").write_text(str(tmp_path))
    with pytest.raises(ArchiveError, match="borrows objects from another one"):
        RunReader.open(run)


def _loose(run: Path, name: str) -> Path:
    return run / "programs.git" / "objects" / name[:2] / name[2:]


@pytest.mark.parametrize(
    ("stated", "why"),
    [pytest.param(2_000_000_000, "it is larger than", marks=pytest.mark.slow), (3, "git cannot read it")],
)
def test_an_object_that_would_fill_the_memory_is_stopped(make_run, stated: int, why: str) -> None:
    run = make_run(generations=1)
    with RunReader.open(run) as archive:
        commit = archive.programs[0].commit
    press = zlib.compressobj(1)
    bomb = press.compress(b"commit %d\0" % stated)
    bomb += b"".join(press.compress(bytes(2**20)) for _ in range(300)) + press.flush()
    for packed in (run / "programs.git" / "objects" / "pack").iterdir():
        packed.unlink()
    _loose(run, commit).parent.mkdir(exist_ok=True)
    _loose(run, commit).write_bytes(bomb)
    code = (
        "import resource,sys; resource.setrlimit(resource.RLIMIT_AS, (400 * 2**20,) * 2)\n"
        "from pathlib import Path\nfrom evolve.archive.reader import RunReader\n"
        "from evolve.core.errors import ArchiveError\n"
        "try:\n    a = RunReader.open(Path(sys.argv[1])); a.files(a.programs[0])\n"
        "except ArchiveError as e:\n    print(e)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code, str(run)], capture_output=True, text=True, check=True)
    assert f"is damaged ({why}" in ran.stdout


def _pack(run: Path, entries: list[tuple[bytes, bytes]]) -> None:
    """Replace all objects by a pack of raw entries, and the index that leads to them."""
    body, places = b"PACK" + (2).to_bytes(4, "big") + len(entries).to_bytes(4, "big"), []
    for name, entry in entries:
        places.append((name, len(body)))
        body += entry
    objects = run / "programs.git" / "objects"
    shutil.rmtree(objects)
    (objects / "pack").mkdir(parents=True)
    (objects / "pack" / "pack-x.pack").write_bytes(body + hashlib.sha1(body).digest())
    places.sort()
    index = b"\xfftOc" + (2).to_bytes(4, "big")
    index += b"".join(sum(name[0] <= first for name, _ in places).to_bytes(4, "big") for first in range(256))
    index += b"".join(name for name, _ in places) + bytes(4 * len(places))
    index += b"".join(place.to_bytes(4, "big") for _, place in places) + bytes(40)
    (objects / "pack" / "pack-x.idx").write_bytes(index)


@pytest.mark.parametrize("entry", ["itself", "endless_size", "far", "copies", "nothing"])
def test_a_pack_may_say_what_it_likes(make_run, entry) -> None:
    run = make_run(generations=1)
    with RunReader.open(run) as archive:
        name = bytes.fromhex(archive.programs[0].commit)
    base = bytes([0xB0 | 4, 0]) + zlib.compress(b"x" * 4)
    delta = b"\x04" + b"\xff\xff\xff\xff\x0f" + b"\x90\x04" * 10
    made = {
        "itself": bytes([0x75]) + name + zlib.compress(b"12345"),
        "endless_size": b"\xff" * 100_000,
        "far": bytes([0x65, 0x7F]) + zlib.compress(b"12345"),
        "copies": bytes([0x70 | 0x80 | (len(delta) & 15), len(delta) >> 4]) + b"b" * 20 + zlib.compress(delta),
        "nothing": b"",
    }[entry]
    _pack(run, [(name, made), (b"b" * 20, base)])
    with pytest.raises(ArchiveError, match=r"is (damaged|missing)"), RunReader.open(run) as archive:
        archive.files(archive.programs[0])


def test_what_git_packed_is_read_with_its_deltas(make_run) -> None:
    run = make_run(generations=7)
    with RunReader.open(run) as archive:
        sources = [archive.files(record).only for record in archive.programs]
    config = run / "programs.git" / "config"
    config.write_text("[core]\n\trepositoryformatversion = 0\n\tbare = true\n")  # as a clone's is
    git(run, "gc", "-q", "--aggressive", "--prune=now")
    assert not _loose(run, "00").parent.parent.joinpath("aa").exists()
    with Archive.open(run) as archive:
        assert [archive.reader.files(record).only for record in archive.reader.programs] == sources


def test_refs_that_are_not_text_are_repaired_and_a_missing_folder_of_objects_is_named(make_run) -> None:
    run = make_run(generations=3)
    packed = run / "programs.git" / "packed-refs"
    packed.write_bytes(b"\xff\xfe " + b"0" * 40 + b" refs/tags/gen/77\n" + b"0" * 40 + b" refs/tags/gen/99\n")
    Archive.open(run).close()
    assert b"gen/99" not in packed.read_bytes()
    shutil.rmtree(run / "programs.git" / "objects")
    (run / "programs.git" / "objects").mkdir()
    with pytest.raises(ArchiveError, match="is missing"):
        RunReader.open(run)


@pytest.mark.parametrize("line", [b'{"event":"x","seq":NaN}', b'{"a":' * 50_000, b"9" * 10_000, b" " * (9 * 2**20)])
def test_a_line_that_json_cannot_bear_is_a_sentence(make_run, line) -> None:
    run = make_run(generations=2)
    count = len(_lines(run))
    with (run / "journal.jsonl").open("ab") as journal:
        journal.write(line + b"\n")
    with pytest.raises(ArchiveError, match=f"line {count + 1} is damaged"):
        RunReader.open(run)


def test_a_configuration_without_end_is_not_read(make_run) -> None:
    run = make_run(generations=2)
    with (run / "run.yaml").open("ab") as file:
        file.truncate(2**33)
    with RunReader.open(run) as archive, pytest.raises(ArchiveError, match="larger than 1048576 bytes"):
        _ = archive.config_text()
