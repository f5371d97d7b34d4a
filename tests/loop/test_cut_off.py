"""A run that is cut off after any of its events and taken up again: the loop itself, without a sandbox."""

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from evolve.archive.reader import RunReader
from evolve.search.stopping import StopReason
from tests.loop.by_hand import begun, taken_up
from tests.loop.climbing import events
from tests.loop.killing import (
    choices_found_again,
    each_ends_once,
    no_answer_is_asked_for_again,
    offline,
    rounds_are_taken_up,
    scripted,
)

SEED = 3
each_cut = pytest.mark.parametrize("cuts", [2, pytest.param(6, marks=pytest.mark.slow)])
"""How many places a run is cut off at: all of them take minutes. The seed says which."""


def whole(folder: Path, config: str) -> list[int]:
    """Make the run `whole`; the lengths of its journal after each event, from the initial program on."""
    path = folder / "runs" / "whole"
    with begun(path, config) as run:
        assert run.go() in (StopReason.GENERATIONS, StopReason.CEILING)
    lines = (path / "journal.jsonl").read_bytes().splitlines(keepends=True)
    lengths = [sum(map(len, lines[:n])) for n in range(len(lines) + 1)]
    return lengths[2:-1]


def cut(folder: Path, length: int) -> Path:
    """The run `r` as `whole` was when its journal had that length, with all that came later still in git."""
    copy = folder / "runs" / "r"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder / "runs" / "whole", copy)
    os.truncate(copy / "journal.jsonl", length)
    return copy


def fingerprint(path: Path) -> str:
    with RunReader.open(path) as archive:
        return archive.fingerprint()


@each_cut
@pytest.mark.parametrize("make", [scripted, offline])
def test_one_in_flight_it_is_the_same_run(tmp_path: Path, make: Callable[..., str], cuts: int) -> None:
    """Refusals, calls that fail (two in a row, and the last), insights reports, one of which cannot be had."""
    config = make(tmp_path, parallel=1)
    lengths = whole(tmp_path, config)
    wanted = fingerprint(tmp_path / "runs" / "whole")
    assert len(lengths) > 60
    for number in [*random.Random(SEED).sample(range(len(lengths)), cuts - 1), len(lengths) - 1]:
        with taken_up(cut(tmp_path, lengths[number]), config) as run:
            assert run.go() is StopReason.GENERATIONS
            assert run.archive.reader.fingerprint() == wanted, events(tmp_path, "whole")[number + 1]
    assert choices_found_again(tmp_path)[1] == []


def test_one_in_flight_what_was_cut_off_goes_on_before_a_confirmation_counts(tmp_path: Path) -> None:
    """Generation 4 gets no answer, which is known when 5 has its own; the kill comes in between."""
    config = scripted(tmp_path, parallel=1)
    lengths = whole(tmp_path, config)
    names = [(event["event"], event.get("generation")) for event in events(tmp_path, "whole")]
    place = names.index(("refused", 4))
    assert names[place + 1] == ("answered", 5)
    with taken_up(cut(tmp_path, lengths[place - 1]), config) as run:
        run.go()
        assert run.archive.reader.fingerprint() == fingerprint(tmp_path / "runs" / "whole")


@each_cut
@pytest.mark.parametrize("make", [scripted, pytest.param(offline, marks=pytest.mark.slow)])
def test_one_in_flight_cut_off_again_and_again_it_is_the_same_run(
    tmp_path: Path, make: Callable[..., str], cuts: int
) -> None:
    config = make(tmp_path, parallel=1)
    length = whole(tmp_path, config)[-1]
    wanted = fingerprint(tmp_path / "runs" / "whole")
    path, chance = cut(tmp_path, length), random.Random(SEED)
    for _ in range(cuts):
        journal = path / "journal.jsonl"
        lines = journal.read_bytes().splitlines(keepends=True)
        kept = chance.randrange(2, len(lines))
        journal.write_bytes(b"".join(lines[:kept]) + lines[kept][: chance.randrange(len(lines[kept]))])
        with taken_up(path, config) as run:
            run.go()
            assert run.archive.reader.fingerprint() == wanted


@each_cut
@pytest.mark.parametrize("make", [scripted, pytest.param(offline, marks=pytest.mark.slow)])
def test_four_in_flight_nothing_is_asked_twice_lost_or_doubled(
    tmp_path: Path, make: Callable[..., str], cuts: int
) -> None:
    config = make(tmp_path, parallel=4)
    lengths = whole(tmp_path, config)
    checked, wrong = choices_found_again(tmp_path, "whole")
    assert (checked, wrong) == (24, [])
    asked = [event for event in events(tmp_path, "whole") if event["event"] == "asked"]
    behind = [event["generation"] - event["position"] for event in asked]
    assert max(behind) >= 2, "some were chosen while others were under way"
    for length in random.Random(SEED).sample(lengths, cuts):
        with taken_up(cut(tmp_path, length), config) as run:
            assert run.go() is StopReason.GENERATIONS
        journal = events(tmp_path)
        assert each_ends_once(journal) == []
        assert no_answer_is_asked_for_again(journal) == []
        assert rounds_are_taken_up(journal) == []
        checked, wrong = choices_found_again(tmp_path)
        assert (checked >= 24, wrong) == (True, [])
