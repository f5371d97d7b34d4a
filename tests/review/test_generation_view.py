"""What is read of one generation: its facts, and the rows that are made of them."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from evaluator.evaluation import Evaluation
from evolve.archive.reader import RunReader
from evolve.core.errors import MachineError
from evolve.review.generation_view import (
    BEGUN,
    COLUMNS,
    CSV,
    LISTED,
    PAGE_OF_PROGRAM,
    PROPOSED,
    ROW,
    SHOWN,
    STEP,
    GenerationReader,
    Shape,
)

SHAPES = (BEGUN, COLUMNS, CSV, LISTED, PAGE_OF_PROGRAM, PROPOSED, ROW, SHOWN, STEP)


@pytest.fixture
def reader(recorded_runs: Any, make_evaluation: Callable[..., Evaluation]) -> GenerationReader:
    """Of a run with an initial program, a better one, a refused proposal and an open one."""
    run = recorded_runs("viewed")
    first = run.propose(1, [run.initial()], source="b = 1\n", evaluation=make_evaluation(score=24.0))
    run.ask(2, [first])
    run.archive.refused(2, 0, reason="no_match", message="It matches nothing.", final=True)
    run.ask(3, [first])
    return GenerationReader(run.archive.reader)


@pytest.mark.parametrize("generation", range(4))
@pytest.mark.parametrize("shape", SHAPES)
def test_every_generation_has_every_row(reader: GenerationReader, shape: Shape, generation: int) -> None:
    row = reader.view(generation).to_json(shape)
    assert list(row) == list(shape)
    json.dumps(row, allow_nan=False)


def test_of_a_generation_without_a_program_nothing_is_said_of_one(reader: GenerationReader) -> None:
    row = reader.view(2).to_json(CSV)
    assert (row["status"], row["reason"], row["patch_kind"], row["parents"]) == ("refused", "no_match", "diff", [1])
    assert {row[key] for key in ("commit", "combined_score", "correct", "excluded", "held_out")} == {None}
    assert [reader.view(number).mark for number in range(4)] == ["best", "best", "refused", "open"]


def test_the_same_fact_has_one_value_in_every_row(reader: GenerationReader) -> None:
    view = reader.view(1)
    rows = [view.to_json(shape) for shape in SHAPES]
    for fact in {fact for shape in SHAPES for fact in shape.values()}:
        found = [row[key] for shape, row in zip(SHAPES, rows, strict=True) for key in shape if shape[key] == fact]
        assert all(value == found[0] for value in found), fact


def test_a_list_reads_no_evaluation(reader: GenerationReader) -> None:
    """Ten thousand of them would take seconds: what is in the journal alone is read for one program at a time."""
    with RunReader.open(reader.archive.folder) as archive:
        view = GenerationReader(archive).view(1)
    assert view.to_json(LISTED)["combined_score"] == 24.0
    assert view.row(ROW)["metrics.success_rate"] == 1.0
    with pytest.raises(MachineError, match="cannot be read"):
        view.to_json(SHOWN)
