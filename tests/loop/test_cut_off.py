"""A run that is cut off after any of its events and taken up again: the loop itself, without a sandbox."""

import functools
import os
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
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
CUTS = 4
"""How many places a run is cut off at: all of them take minutes. The seed says which."""
each_cut = pytest.mark.parametrize("cuts", [2, pytest.param(CUTS, marks=pytest.mark.slow)])
each_half = pytest.mark.parametrize(
    "half", [pytest.param(slice(0, 2), id="first"), pytest.param(slice(2, CUTS), id="second", marks=pytest.mark.slow)]
)


@dataclass(frozen=True, kw_only=True)
class Whole:
    """A folder with the run `whole`, and the lengths of its journal after each event, from the initial program on."""

    folder: Path
    config: str
    lengths: list[int]


Make = Callable[..., str]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Make, int], Whole]:
    """Gives the run of a configuration, with that many in flight, made when it is first asked for."""

    @functools.cache
    def get(make: Make, parallel: int) -> Whole:
        folder = tmp_path_factory.mktemp("whole")
        config, path = make(folder, parallel=parallel), folder / "runs" / "whole"
        with begun(path, config) as run:
            assert run.go() in (StopReason.GENERATIONS, StopReason.CEILING)
        lines = (path / "journal.jsonl").read_bytes().splitlines(keepends=True)
        lengths = [sum(map(len, lines[:n])) for n in range(len(lines) + 1)]
        return Whole(folder=folder, config=config, lengths=lengths[2:-1])

    return get


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


@each_half
@pytest.mark.parametrize("make", [scripted, offline])
def test_one_in_flight_it_is_the_same_run(whole: Callable[[Make, int], Whole], make: Make, half: slice) -> None:
    """Refusals, calls that fail (two in a row, and the last), insights reports, one of which cannot be had."""
    made = whole(make, 1)
    folder, config, lengths = made.folder, made.config, made.lengths
    wanted = fingerprint(folder / "runs" / "whole")
    assert len(lengths) > 60
    for number in [len(lengths) - 1, *random.Random(SEED).sample(range(len(lengths)), CUTS - 1)][half]:
        with taken_up(cut(folder, lengths[number]), config) as run:
            assert run.go() is StopReason.GENERATIONS
            assert run.archive.reader.fingerprint() == wanted, events(folder, "whole")[number + 1]
    assert choices_found_again(folder)[1] == []


def test_one_in_flight_what_was_cut_off_goes_on_before_a_confirmation_counts(
    whole: Callable[[Make, int], Whole],
) -> None:
    """Generation 4 gets no answer, which is known when 5 has its own; the kill comes in between."""
    made = whole(scripted, 1)
    names = [(event["event"], event.get("generation")) for event in events(made.folder, "whole")]
    place = names.index(("refused", 4))
    assert names[place + 1] == ("answered", 5)
    with taken_up(cut(made.folder, made.lengths[place - 1]), made.config) as run:
        run.go()
        assert run.archive.reader.fingerprint() == fingerprint(made.folder / "runs" / "whole")


@each_cut
@pytest.mark.parametrize("make", [scripted, pytest.param(offline, marks=pytest.mark.slow)])
def test_one_in_flight_cut_off_again_and_again_it_is_the_same_run(
    whole: Callable[[Make, int], Whole], make: Make, cuts: int
) -> None:
    made = whole(make, 1)
    wanted = fingerprint(made.folder / "runs" / "whole")
    path, chance = cut(made.folder, made.lengths[-1]), random.Random(SEED)
    for _ in range(cuts):
        journal = path / "journal.jsonl"
        lines = journal.read_bytes().splitlines(keepends=True)
        kept = chance.randrange(2, len(lines))
        journal.write_bytes(b"".join(lines[:kept]) + lines[kept][: chance.randrange(len(lines[kept]))])
        with taken_up(path, made.config) as run:
            run.go()
            assert run.archive.reader.fingerprint() == wanted


@each_half
@pytest.mark.parametrize("make", [scripted, pytest.param(offline, marks=pytest.mark.slow)])
def test_four_in_flight_nothing_is_asked_twice_lost_or_doubled(
    whole: Callable[[Make, int], Whole], make: Make, half: slice
) -> None:
    made = whole(make, 4)
    checked, wrong = choices_found_again(made.folder, "whole")
    assert (checked, wrong) == (24, [])
    asked = [event for event in events(made.folder, "whole") if event["event"] == "asked"]
    behind = [event["generation"] - event["position"] for event in asked]
    assert max(behind) >= 2, "some were chosen while others were under way"
    for length in random.Random(SEED).sample(made.lengths, CUTS)[half]:
        with taken_up(cut(made.folder, length), made.config) as run:
            assert run.go() is StopReason.GENERATIONS
        journal = events(made.folder)
        assert each_ends_once(journal) == []
        assert no_answer_is_asked_for_again(journal) == []
        assert rounds_are_taken_up(journal) == []
        checked, wrong = choices_found_again(made.folder)
        assert (checked >= 24, wrong) == (True, [])
