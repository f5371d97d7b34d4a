"""Whatever becomes of a journal is found, by line, or harms nothing; nobody writes over what somebody else wrote."""

import json
import os
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolve.archive.archive import Archive, repair
from evolve.archive.events import EVENTS
from evolve.archive.journal import DamagedJournal
from evolve.archive.lines import BEGINNING, seal, unseal
from evolve.archive.reader import RunReader
from evolve.archive.state import CONSEQUENCES
from evolve.core.errors import ArchiveError
from tests.archive.small_run import IDENTITY, answer, ask, evolve_on, git, record
from tests.examples import part_of_the_examples
from tests.journals import rewrite

LINE = r"journal\.jsonl, line {} is damaged: "


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One small run, which no test changes for good."""
    path = tmp_path_factory.mktemp("small") / "run"
    with Archive.create(path, config_text="seed: 0\n", identity=IDENTITY) as archive:
        evolve_on(archive, 7, prompts=True)
    yield path


@pytest.fixture
def run(small: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(small, tmp_path / "run"))


def _seen(run: Path) -> tuple[str, object, int]:
    with RunReader.open(run) as archive:
        return archive.fingerprint(), archive.best, len(archive.programs)


def test_each_flipped_bit_is_found_with_its_line(run: Path) -> None:
    journal, chance = run / "journal.jsonl", random.Random(5)
    data = journal.read_bytes()
    for _ in range(settings.default.max_examples):
        place, bit = chance.randrange(len(data)), chance.randrange(8)
        flipped = bytearray(data)
        flipped[place] ^= 1 << bit
        journal.write_bytes(flipped)
        line = data.count(b"\n", 0, place) + 1
        with pytest.raises(ArchiveError, match=LINE.format(line) + "|its format is"):
            RunReader.open(run)
    journal.write_bytes(data)


@part_of_the_examples(2)
@given(data=st.data())
def test_lines_taken_out_swapped_doubled_or_edited_are_found(small: Path, data: st.DataObject) -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        run = folder / "run"
        shutil.copytree(small, run)
        journal = run / "journal.jsonl"
        lines = journal.read_bytes().splitlines(keepends=True)
        place = data.draw(st.integers(0, len(lines) - 2), "line")
        other = data.draw(st.integers(place + 1, len(lines) - 1), "other line")
        match data.draw(st.sampled_from(["take out", "swap", "double", "edit", "insert"])):
            case "take out":
                del lines[place]
            case "swap":
                lines[place], lines[other] = lines[other], lines[place]
            case "double":
                lines.insert(other, lines[place])
            case "edit":
                cut = data.draw(st.integers(0, len(lines[place]) - 1))
                new = data.draw(st.binary(min_size=1, max_size=8).filter(lambda b: b not in lines[place]))
                lines[place] = lines[place][:cut] + new + lines[place][cut + len(new) :]
            case "insert":
                lines.insert(place, data.draw(st.binary(max_size=60)) + b"\n")
        journal.write_bytes(b"".join(lines))
        with pytest.raises(ArchiveError, match=r"journal\.jsonl"):
            RunReader.open(run)
    finally:
        shutil.rmtree(folder)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(
    event=st.dictionaries(st.text(max_size=8).filter(lambda key: key not in ("sum", "evaluation")), json_values),
    evaluation=st.none() | st.dictionaries(st.sampled_from(["costs", "detail", "outcome", "measured"]), json_values),
    previous=st.text("0123456789abcdef", min_size=16, max_size=16),
)
def test_what_is_sealed_is_unsealed(event: dict[str, object], evaluation: object, previous: str) -> None:
    event = {**event, "event": "any"} | ({} if evaluation is None else {"evaluation": evaluation})
    line, read, checksum = seal(event, previous)
    assert line.count(b"\n") == 1
    assert unseal(line, previous) == (read, checksum)
    assert read == json.loads(json.dumps(event))
    with pytest.raises(ValueError, match="checksum does not fit"):
        unseal(line, previous[::-1] if previous != previous[::-1] else "0123456789abcdef")


def test_what_is_packed_in_a_line_is_bounded() -> None:
    import base64
    import zlib

    bomb = base64.b64encode(zlib.compress(b'{"costs":"' + b"0" * (65 << 20) + b'"}', 9)).decode()
    line, _, _ = seal({"event": "evaluated", "evaluation": {"packed": bomb}}, BEGINNING)
    with pytest.raises(ValueError, match="its evaluation cannot be unpacked"):
        unseal(line, BEGINNING)


# -- what cannot be true -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"combined_score": 26.5}, r"its score 26\.5 is above the ceiling 26\.0"),
        ({"correct": False}, "it is called not correct, and its outcome is 'ok'"),
        ({"outcome": "exception"}, "it is called correct, and its outcome is 'exception'"),
        ({"quarantine": "a hole"}, "it is called correct"),
        ({"costs": ["7/3", None]}, "its costs and its failures are not of the same instances"),
        ({"costs": ["7/3"], "failures": []}, "must be as long as each other"),
        ({"costs": ["7/3", None], "failures": [[1, "timeout", ""]]}, "its outcome is ok, and 1 of 2 instances failed"),
    ],
)
def test_a_verdict_that_contradicts_itself_is_refused_by_reader_and_writer(
    run: Path, change: dict[str, object], why: str
) -> None:
    rewrite(run / "journal.jsonl", lambda event: event["evaluation"].update(change) if "evaluation" in event else None)
    for opened in (RunReader, Archive):
        with pytest.raises(DamagedJournal, match=LINE.format(2) + ".*" + why):
            opened.open(run)


def test_a_score_above_the_ceiling_is_not_even_written(run: Path) -> None:
    with Archive.open(run) as archive:
        ask(archive, 7)
        answer(archive, 7)
        before = archive.reader.fingerprint()
        with pytest.raises(ValueError, match="above the ceiling"):
            record(archive, 7, score=27.0, parents=(archive.reader.programs[0].commit,))
        assert archive.reader.fingerprint() == before


# -- following, and writing next to others ----------------------------------------------------------------------------


def test_a_reader_follows_a_growing_run_and_waits_for_a_line_that_is_half_written(folder: Path) -> None:
    with Archive.create(folder, config_text="", identity=IDENTITY) as writer:
        record(writer, 0)
        with RunReader.open(folder) as reader:
            assert reader.more() == 0
            for generation in range(1, 6):
                ask(writer, generation, prompt="why?")
                answer(writer, generation)
                record(writer, generation, parents=(writer.reader.programs[0].commit,), score=20 + generation / 10)
                assert reader.more() == 3
                assert (reader.best, list(reader.programs)) == (writer.reader.best, list(writer.reader.programs))
                assert reader.files(reader.programs[-1]).only == writer.reader.files(writer.reader.programs[-1]).only
            assert reader.fingerprint() == writer.reader.fingerprint()
            assert writer.reader.more() == 0
    whole = (folder / "journal.jsonl").read_bytes()
    with Archive.open(folder) as writer:
        writer.stopped("here")
    longer = (folder / "journal.jsonl").read_bytes()
    (folder / "journal.jsonl").write_bytes(whole)
    with RunReader.open(folder) as reader, (folder / "journal.jsonl").open("ab", buffering=0) as journal:
        for byte in longer[len(whole) : -1]:
            journal.write(bytes((byte,)))
            assert (reader.more(), reader.finished) == (0, None)
        journal.write(b"\n")
        assert (reader.more(), reader.finished) == (1, "here")


def test_a_reader_whose_journal_was_cut_or_replaced_says_so(run: Path) -> None:
    journal = run / "journal.jsonl"
    data = journal.read_bytes()
    with RunReader.open(run) as reader:
        os.truncate(journal, len(data) - 10)
        with pytest.raises(ArchiveError, match="has become shorter"):
            reader.more()
        journal.unlink()
        with pytest.raises(ArchiveError, match="is not there any more"):
            reader.more()
        journal.write_bytes(data)
        with pytest.raises(ArchiveError, match="was replaced by another"):
            reader.more()


def test_every_ended_generation_knows_its_time_its_cost_and_its_position(folder: Path) -> None:
    with Archive.create(folder, config_text="", identity=IDENTITY) as archive:
        record(archive, 0)
        for generation, cost in ((1, 0.25), (2, 0.5)):
            ask(archive, generation)
            answer(archive, generation, cost=cost)
        archive.refused(2, 0, reason="no_match", message="", final=True)
        record(archive, 1, parents=(archive.reader.programs[0].commit,))
        written = [ended.moment for ended in archive.reader.endings()]
    with RunReader.open(folder) as archive:
        moments = [ended.moment for ended in archive.endings()]
        assert moments == written
        spent = [(moment.position, moment.spent.known_usd, moment.spent.tokens) for moment in moments]
        assert spent == [(1, 0, 0), (2, 0.75, 6), (3, 0.75, 6)]
        assert archive.began <= moments[0].t <= moments[1].t <= moments[2].t == archive.newest
        assert [program.moment for program in archive.programs] == [moments[0], moments[2]]


HARM: list[tuple[Callable[[Path], object], str]] = [
    (lambda path: path.open("ab").write(b"mine\n"), "somebody else has written to it"),
    (lambda path: os.truncate(path, 100), "somebody else has cut it"),
    (lambda path: path.unlink(), "is not there any more"),
    (lambda path: shutil.copy(path, path.with_name("x")).rename(path), "was replaced by another"),
]


@pytest.mark.parametrize(("harm", "why"), HARM)
def test_a_writer_looks_whether_the_journal_is_still_its_own_and_destroys_nothing(
    run: Path, harm: Callable[[Path], object], why: str
) -> None:
    journal = run / "journal.jsonl"
    with Archive.open(run) as archive:
        harm(journal)
        left = journal.read_bytes() if journal.exists() else None
        with pytest.raises(ArchiveError, match=why):
            archive.stopped("here")
        assert (journal.read_bytes() if journal.exists() else None) == left


def test_removing_other_files_than_the_journal_lets_no_second_writer_in(run: Path) -> None:
    with Archive.open(run):
        for path in run.iterdir():
            if path.is_file() and path.name not in ("journal.jsonl", "run.yaml"):
                path.unlink()
        with pytest.raises(ArchiveError, match=r"is being written by process \d+"):
            Archive.open(run)


def test_what_the_killed_making_of_a_run_left_is_removed_and_nothing_else(run: Path) -> None:
    place = run.parent
    (place / ".run.0123abcd").mkdir()
    (place / ".run.0123abcd" / "journal.jsonl").touch()
    (place / ".other.0123abcd").mkdir()
    (place / ".other.0123abcd" / "letters.txt").touch()
    (place / ".young.0123abcd").mkdir()
    shutil.copytree(run, place / ".backup.0123abcd")
    shutil.copytree(run, place / ".held.0123abcd")
    first = (run / "journal.jsonl").read_bytes().split(b"\n")[0] + b"\n"
    (place / ".held.0123abcd" / "journal.jsonl").write_bytes(first)
    for name in (".import.0123abcd", ".writing.0123abcd"):  # imports, of which one was written to just now
        shutil.copytree(run, place / name)
        rewrite(place / name / "journal.jsonl", import_of)
    for name in (".run.0123abcd", ".other.0123abcd", ".backup.0123abcd", ".import.0123abcd", ".writing.0123abcd"):
        for path in (place / name, place / name / "journal.jsonl"):
            if path.exists() and path != place / ".writing.0123abcd" / "journal.jsonl":
                os.utime(path, (1, 1))
    with Archive.open(place / ".held.0123abcd"):
        os.utime(place / ".held.0123abcd", (1, 1))
        Archive.open(run).close()
    left = {path.name.removesuffix(".0123abcd") for path in place.iterdir()}
    assert left == {"run", ".backup", ".other", ".young", ".held", ".writing"}


def import_of(event: dict[str, Any]) -> None:
    """Make an event that of an imported run."""
    if event["event"] == "created":
        event["identity"]["imported"] = "ShinkaEvolve"


# -- repair ------------------------------------------------------------------------------------------------------------


def test_repair_cuts_before_the_damage_and_keeps_what_it_cut(run: Path) -> None:
    whole, journal = _seen(run), run / "journal.jsonl"
    data = journal.read_bytes()
    lines = data.splitlines(keepends=True)
    kept = b"".join(lines[:20])
    rest = lines[20][:50] + b"garbage\n" + b"".join(lines[21:])
    journal.write_bytes(kept + rest)
    with pytest.raises(ArchiveError, match=LINE.format(21) + ".* resume .*run --repair; nothing was changed"):
        Archive.open(run)
    message = repair(run)
    assert "line 21 is damaged" in message
    assert "journal.cut-off-1" in message
    assert (journal.read_bytes(), (run / "journal.cut-off-1").read_bytes()) == (kept, rest)
    with Archive.open(run) as archive:
        archive.resumed()
        evolve_on(archive, 7, prompts=True)
    assert _seen(run)[0] == whole[0]
    git(run, "fsck", "--strict")
    assert "nothing was cut off" in repair(run)
    journal.write_bytes(journal.read_bytes() + b"garbage\n")
    assert "journal.cut-off-2" in repair(run)


def test_repair_keeps_out_of_a_run_that_is_being_written_and_of_one_without_a_beginning(run: Path) -> None:
    journal = run / "journal.jsonl"
    with Archive.open(run), pytest.raises(ArchiveError, match="is being written"):
        repair(run)
    data = b"?" + journal.read_bytes()
    journal.write_bytes(data)
    with pytest.raises(DamagedJournal) as caught:
        repair(run)
    assert "--repair" not in str(caught.value)
    assert journal.read_bytes() == data


def test_a_changed_line_end_is_no_torn_line(run: Path) -> None:
    journal = run / "journal.jsonl"
    data = journal.read_bytes()
    journal.write_bytes(data[:-1] + b"J")
    for opened in (RunReader, Archive):
        with pytest.raises(DamagedJournal, match="its line end was changed"):
            opened.open(run)
    assert journal.read_bytes() == data[:-1] + b"J"


def test_every_kind_of_event_has_a_consequence() -> None:
    """A kind without one would be reported as a damaged line."""
    assert set(CONSEQUENCES) == set(EVENTS.values())
