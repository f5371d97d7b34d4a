"""Result folders of other systems are read whole: database, folders and checkpoints, and what differs is noted."""

import json
import math
from pathlib import Path

import pytest

from evolve.apps.results.folder import read_results
from evolve.apps.results.reading import FolderReader
from evolve.apps.results.values import MAX_NUMBERS, ResultFolder, ResultProgram, unused
from evolve.core.errors import InputError
from evolve.core.program import PatchKind
from tests.result_folders import (
    INITIAL,
    INITIAL_SCORE,
    Made,
    answer,
    three_hundred,
    variant,
    write_database,
    write_generations,
    write_openevolve,
)


def by_id(results: ResultFolder) -> dict[str, ResultProgram]:
    return {program.id: program for program in results.programs}


def require_parents_first(results: ResultFolder) -> None:
    seen: set[str] = set()
    every = by_id(results)
    for program in results.programs:
        assert program.ancestry.parent not in every or program.ancestry.parent in seen
        seen.add(program.id)


@pytest.mark.parametrize("wal", [False, True])
def test_a_database_is_read_with_its_log(tmp_path: Path, wal: bool) -> None:
    made = three_hundred()
    write_database(tmp_path / "programs.sqlite", made, wal=wal)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    results = read_results(tmp_path)
    assert (results.system, len(results.programs), results.notes) == ("ShinkaEvolve", 300, ())
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert ("programs.sqlite-wal" in before) is wal
    require_parents_first(results)
    read = by_id(results)
    program = read["id-012"]
    assert program.claimed.source == variant(12)
    assert (program.claimed.score, program.claimed.correct, program.claimed.name) == (INITIAL_SCORE, True, "variant_12")
    assert (program.ancestry.parent, program.ancestry.inspirations, program.ancestry.island) == (
        "id-005",
        ("id-000",),
        0,
    )
    proposed = program.proposed
    assert (proposed.kind, proposed.model, proposed.answer) == (PatchKind.DIFF, "some-model", answer(made[12]))
    assert proposed.prompt == "Be good.\n\nImprove it."
    assert (proposed.usage.tokens_in, proposed.usage.tokens_out, proposed.usage.cost_usd) == (100, 10, 0.25)
    assert read["id-000"].proposed.kind is PatchKind.INITIAL
    assert [read[f"id-{n:03d}"].claimed.score for n in (4, 5)] == [None, 99.0]  # SQLite keeps NaN as null
    assert read["id-006"].claimed.notes == ("its parent gone-6 is not in the folder",)
    assert read["id-007"].claimed.source == read["id-001"].claimed.source


def test_folders_alone_are_read_with_their_lineage(tmp_path: Path) -> None:
    made = three_hundred()
    write_generations(tmp_path, made)
    results = read_results(tmp_path)
    assert len(results.programs) == 300
    require_parents_first(results)
    read = by_id(results)
    program = read["gen_12"]
    assert (program.claimed.name, program.claimed.score, program.claimed.correct) == ("variant_12", INITIAL_SCORE, True)
    assert (program.ancestry.parent, program.proposed.kind) == ("gen_5", PatchKind.FULL)
    assert (program.proposed.description, program.proposed.usage.cost_usd) == ("Why.", None)
    assert math.isnan(read["gen_4"].claimed.score or 0.0)
    assert read["gen_6"].claimed.notes == ("its parent is not in the folder",)
    cut_off = read["gen_8"].claimed
    assert (cut_off.score, cut_off.correct, len(cut_off.notes)) == (None, True, 1)
    assert "holds no JSON object" in cut_off.notes[0]
    assert sum("no JSON" in note for note in results.notes) == 30


def test_database_and_folders_are_one_list_and_differences_are_noted(tmp_path: Path) -> None:
    database = [Made(number=0, code=INITIAL), *(Made(number=n, code=variant(n), parent="id-000") for n in range(1, 5))]
    write_database(tmp_path / "programs.sqlite", database)
    folders = [*database[:2], Made(number=2, code=variant(2), score=1.3, parent="id-000")]
    folders += [Made(number=3, code=variant(33), parent="id-000"), Made(number=9, code=variant(9), parent="id-000")]
    write_generations(tmp_path, folders)
    (tmp_path / "gen_4" / "results").mkdir(parents=True)  # it failed before there was a program
    results = read_results(tmp_path)
    read = by_id(results)
    assert sorted(read) == ["gen_3", "gen_9", *(f"id-{n:03d}" for n in range(5))]
    assert read["id-001"].claimed.where_from == "programs.sqlite, gen_1"
    assert read["id-001"].claimed.notes == ()
    assert read["id-002"].claimed.notes == (f"database and folder differ: combined_score {INITIAL_SCORE} / 1.3",)
    assert read["gen_3"].claimed.notes == ("database and folder differ in the text of generation 3",)
    assert read["gen_9"].ancestry.parent == "id-000"
    assert read["id-004"].claimed.notes == ("it has no text", "its folder holds no such text")


def test_an_empty_database_leaves_the_folders(tmp_path: Path) -> None:
    (tmp_path / "evolution_db.sqlite").touch()
    write_generations(tmp_path, three_hundred()[:3])
    results = read_results(tmp_path)
    assert len(results.programs) == 3
    assert [note for note in results.notes if "evolution_db.sqlite" in note]


def test_reports_name_what_folders_do_not(tmp_path: Path) -> None:
    (tmp_path / "gen_0").mkdir()
    (tmp_path / "gen_0" / "main.py").write_text(INITIAL)
    named = "**Program Identifier:** Generation 0 - Patch Name first_one - Correct Program: False"
    (tmp_path / "meta").mkdir()
    said = "- **Performance**: Combined score 95.04, all correct."
    (tmp_path / "meta" / "meta_10.txt").write_text(f"# INDIVIDUAL PROGRAM SUMMARIES\n\nText.\n{said}\n{named}\n")
    results = read_results(tmp_path)
    assert [(report.programs, report.name) for report in results.reports] == [(10, "meta_10.txt")]
    claimed = results.programs[0].claimed
    assert (claimed.name, claimed.correct, claimed.score) == ("first_one", False, None)
    assert claimed.notes == ("meta_10.txt says: Combined score 95.04, all correct.",)


def test_checkpoints_are_read_as_one_run(tmp_path: Path) -> None:
    made = three_hundred()
    write_openevolve(tmp_path, made)
    results = read_results(tmp_path)
    assert (results.system, len(results.programs)) == ("OpenEvolve", 300)
    require_parents_first(results)
    read = by_id(results)
    program = read["id-012"]
    assert (program.claimed.source, program.claimed.score, program.claimed.correct) == (
        variant(12),
        INITIAL_SCORE,
        None,
    )
    assert (program.ancestry.parent, program.ancestry.island, program.proposed.kind) == ("id-005", 0, PatchKind.FULL)
    assert program.proposed.answer == answer(made[12])
    assert program.proposed.prompt == "Be good.\n\nImprove it."
    assert math.isnan(read["id-004"].claimed.score or 0.0)
    assert (read["id-008"].claimed.source, read["id-008"].claimed.generation) == (None, None)
    assert read["id-008"].claimed.notes == ("its document in checkpoint_100 cannot be read",)
    assert read["id-200"].ancestry.island == 2
    for folder in (tmp_path / "checkpoints", tmp_path / "checkpoints" / "checkpoint_300"):
        assert read_results(folder).programs


def test_a_program_that_differs_between_checkpoints_is_shown_twice(tmp_path: Path) -> None:
    first = [Made(number=0, code=INITIAL), Made(number=1, code=variant(1), parent="id-000")]
    write_openevolve(tmp_path / "one", first, every=2)
    later = [Made(number=0, code=INITIAL, score=3.5), Made(number=1, code=variant(11), parent="id-000")]
    write_openevolve(tmp_path / "two", later, every=2)
    (tmp_path / "two" / "checkpoints" / "checkpoint_2").rename(tmp_path / "one" / "checkpoints" / "checkpoint_4")
    read = by_id(read_results(tmp_path / "one"))
    assert read["id-000"].claimed.notes == (
        f"checkpoint_2 and checkpoint_4 differ: combined_score {INITIAL_SCORE} / 3.5",
    )
    other = read["id-001 (checkpoint_4)"].claimed
    assert (other.source, other.notes) == (variant(11), ("checkpoint_2 has another text under the id id-001",))


@pytest.mark.parametrize(
    ("metrics", "mean", "count"),
    [
        ('{"a": 1.0, "b": 2.5, "c": "text"}', 1.75, 2),
        ('{"a": 1.0, "b": 2.0, "c": true, "d": false}', 1.0, 4),  # a boolean is an int there
        ('{"a": 1.0, "b": 2.0, "c": NaN}', 1.5, 2),  # which it leaves out
    ],
)
def test_without_a_combined_score_the_mean_ranks_a_program(
    tmp_path: Path, metrics: str, mean: float, count: int
) -> None:
    (tmp_path / "best").mkdir()
    (tmp_path / "best" / "best_program.py").write_text(INITIAL)
    (tmp_path / "best" / "best_program_info.json").write_text(f'{{"metrics": {metrics}}}')
    claimed = read_results(tmp_path).programs[0].claimed
    assert (claimed.score, claimed.notes) == (
        mean,
        (f"no combined_score is recorded: the mean of its {count} metrics ranks it",),
    )


def test_the_score_is_kept_of_more_numbers_than_are_kept(tmp_path: Path) -> None:
    many = {f"time_{number}": 1.0 for number in range(MAX_NUMBERS)} | {"combined_score": 21.5}
    programs, generation = (
        tmp_path / "open" / "checkpoints" / "checkpoint_1" / "programs",
        tmp_path / "shinka" / "gen_0",
    )
    for place in (programs, generation / "results"):
        place.mkdir(parents=True)
    (programs / "a.json").write_text(json.dumps({"id": "a", "code": "x = 1\n", "metrics": many}))
    (generation / "main.py").write_text("x = 1\n")
    (generation / "results" / "metrics.json").write_text(json.dumps(many))
    for folder in (tmp_path / "open", tmp_path / "shinka"):
        (program,) = read_results(folder).programs
        assert program.claimed.score == 21.5
        assert program.claimed.notes == ()


def test_ids_that_are_the_same_get_numbers_in_order_with_few_looks() -> None:
    class Counted(set[str]):
        looks = 0

        def __contains__(self, id_: object) -> bool:
            self.looks += 1
            return super().__contains__(id_)

    used = Counted()
    for _ in range(1000):
        used.add(unused("a", used))
    assert used == {"a", *(f"a ({number})" for number in range(2, 1001))}
    assert used.looks < 30_000


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(InputError, match="is no result folder of ShinkaEvolve"):
        read_results(tmp_path)
    with pytest.raises(InputError, match="is not a folder"):
        read_results(tmp_path / "notes.txt")
    (tmp_path / "programs.sqlite").write_bytes(b"no database at all, but long enough to be read as one" * 10)
    with pytest.raises(InputError, match=r"without a program: .*programs\.sqlite: is damaged or no database"):
        read_results(tmp_path)


def test_a_folder_that_becomes_a_link_after_it_was_listed_is_not_followed(tmp_path: Path) -> None:
    results, outside = tmp_path / "results", tmp_path / "outside"
    (results / "gen_0").mkdir(parents=True)
    outside.mkdir()
    for place in (results / "gen_0", outside):
        (place / "main.py").write_text(str(place))
    reader = FolderReader(results)
    assert reader.folders(results) == ["gen_0"]
    assert reader.text(results / "gen_0" / "main.py") == str(results / "gen_0")
    (results / "gen_0").rename(tmp_path / "away")
    (results / "gen_0").symlink_to(outside)
    assert reader.files(results / "gen_0") == []
    assert reader.text(results / "gen_0" / "main.py") is None
    assert len(reader.notes) == 2
    assert all(str(outside) not in note for note in reader.notes)
