"""Result folders that want to do harm, each written by a function of its own.

`folder` is the result folder, `outside` one next to it, which holds `secret.py` and `secret.json`.
"""

import json
import os
import pickle
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

SECRET: Final = "SECRET_OF_THE_USER"
CODE: Final = "x = 1\n"
Maker = Callable[[Path, Path], None]
HOSTILE: Final[dict[str, Maker]] = {}


def hostile(maker: Maker) -> Maker:
    """Note a maker under its name."""
    HOSTILE[maker.__name__] = maker
    return maker


def everything_in(folder: Path) -> dict[str, tuple[int, int, int]]:
    """Names, kinds, sizes and times of all that is in a folder."""
    found = {}
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            status = os.lstat(os.path.join(place, name))  # noqa: PTH118 - names that no Path would keep
            found[os.path.join(place, name)] = (status.st_mode, status.st_size, status.st_mtime_ns)  # noqa: PTH118
    return found


class _Touches:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (open, (str(self.path), "w"))


def generation(folder: Path, number: int = 0, code: str | bytes = CODE) -> Path:
    """An honest `gen_<n>/`, so that the folder is one of ShinkaEvolve."""
    place = folder / f"gen_{number}"
    (place / "results").mkdir(parents=True)
    (place / "main.py").write_bytes(code.encode() if isinstance(code, str) else code)
    return place


def checkpoint(folder: Path, documents: dict[str, Any] | None = None) -> Path:
    """A checkpoint of OpenEvolve, with an honest program and these documents."""
    programs = folder / "checkpoints" / "checkpoint_1" / "programs"
    programs.mkdir(parents=True)
    documents = {"honest.json": {"id": "honest", "code": CODE, "metrics": {"combined_score": 1.0}}} | (documents or {})
    for name, document in documents.items():
        (programs / name).write_text(document if isinstance(document, str) else json.dumps(document))
    return programs


def database(folder: Path, *statements: str, name: str = "programs.sqlite") -> Path:
    """A database made by these statements, next to a generation that can be read."""
    generation(folder)
    connection = sqlite3.connect(folder / name, isolation_level=None)
    connection.execute("BEGIN")
    for statement in statements:
        connection.execute(statement)
    connection.execute("COMMIT")
    connection.close()
    return folder / name


TABLE: Final = "CREATE TABLE programs (id TEXT, code TEXT, parent_id TEXT, generation INTEGER, metadata TEXT)"


def row(code: str = "'x = 2'", id_: str = "'a'", parent: str = "NULL", metadata: str = "'{}'") -> str:
    """A statement that inserts one row, of SQL expressions."""
    return f"INSERT INTO programs VALUES ({id_}, {code}, {parent}, 1, {metadata})"


# -- databases ---------------------------------------------------------------------------------------------------------


@hostile
def database_is_a_link(folder: Path, outside: Path) -> None:
    generation(folder)
    database(outside, TABLE, row(f"'{SECRET}'"))
    (folder / "programs.sqlite").symlink_to(outside / "programs.sqlite")


@hostile
def database_is_a_device(folder: Path, outside: Path) -> None:
    generation(folder)
    (folder / "programs.sqlite").symlink_to("/dev/zero")


@hostile
def database_is_a_pipe(folder: Path, outside: Path) -> None:
    generation(folder)
    os.mkfifo(folder / "programs.sqlite")


@hostile
def database_is_a_folder(folder: Path, outside: Path) -> None:
    generation(folder)
    (folder / "programs.sqlite").mkdir()


@hostile
def database_is_empty(folder: Path, outside: Path) -> None:
    generation(folder)
    (folder / "programs.sqlite").touch()


@hostile
def database_is_garbage(folder: Path, outside: Path) -> None:
    generation(folder)
    (folder / "programs.sqlite").write_bytes(os.urandom(20_000))


@hostile
def database_is_a_header(folder: Path, outside: Path) -> None:
    generation(folder)
    (folder / "programs.sqlite").write_bytes(b"SQLite format 3\x00" + bytes(84))


@hostile
def database_is_cut_off(folder: Path, outside: Path) -> None:
    path = database(folder, TABLE, *(row(f"'{'y' * 3000}{n}'", f"'{n}'") for n in range(50)))
    path.write_bytes(path.read_bytes()[:60_000])


@hostile
def database_is_damaged_inside(folder: Path, outside: Path) -> None:
    path = database(folder, TABLE, *(row(f"'{'y' * 3000}{n}'", f"'{n}'") for n in range(50)))
    content = bytearray(path.read_bytes())
    content[40_000:80_000] = os.urandom(40_000)
    path.write_bytes(content)


@hostile
def database_is_huge(folder: Path, outside: Path) -> None:
    path = database(folder, TABLE, row())
    os.truncate(path, 2**40)


@hostile
def table_is_a_view(folder: Path, outside: Path) -> None:
    database(folder, f"CREATE VIEW programs AS SELECT 'a' AS id, '{SECRET}' AS code")


@hostile
def table_is_a_view_without_end(folder: Path, outside: Path) -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id, i AS code FROM n"
    database(folder, f"CREATE VIEW programs AS {endless}")


@hostile
def table_is_a_view_by_a_forged_schema(folder: Path, outside: Path) -> None:
    """The row of the schema that calls `programs` a table is an index to SQLite, and the view of that name counts."""
    forged = "UPDATE sqlite_master SET name = 'programs', sql = 'CREATE INDEX programs ON q (id)' WHERE name = 'i'"
    view = f"CREATE VIEW programs AS SELECT 'a' AS id, '{SECRET}' AS code"
    statements = ("CREATE TABLE q (id TEXT)", view, "CREATE INDEX i ON q (id)", "PRAGMA writable_schema = ON", forged)
    database(folder, *statements, "INSERT INTO sqlite_master VALUES ('table', 'programs', 'q', 3, '')")


@hostile
def table_is_virtual(folder: Path, outside: Path) -> None:
    database(folder, "CREATE VIRTUAL TABLE programs USING fts5(id, code)")


@hostile
def table_has_triggers(folder: Path, outside: Path) -> None:
    trigger = "CREATE TRIGGER t AFTER INSERT ON programs BEGIN UPDATE programs SET code = 'changed'; END"
    database(folder, TABLE, trigger, row())


@hostile
def table_has_computed_columns(folder: Path, outside: Path) -> None:
    computed = f"code TEXT, parent_id TEXT AS ('{SECRET}'), metadata TEXT AS (hex(zeroblob(n)))"
    row_of_two = "INSERT INTO programs VALUES ('a', 40000000, 'x = 1')"
    database(folder, f"CREATE TABLE programs (id TEXT, n INTEGER, {computed})", row_of_two)


@hostile
def table_lacks_columns(folder: Path, outside: Path) -> None:
    database(folder, "CREATE TABLE programs (name TEXT)", "INSERT INTO programs VALUES ('a')")


@hostile
def schema_is_malformed(folder: Path, outside: Path) -> None:
    edit = "UPDATE sqlite_master SET sql = 'CREATE TABLE programs (id, code, ('"
    database(folder, TABLE, row(), "PRAGMA writable_schema = ON", edit)


@hostile
def schema_attaches_itself(folder: Path, outside: Path) -> None:
    edit = "UPDATE sqlite_master SET rootpage = 1"
    database(folder, TABLE, row(), "PRAGMA writable_schema = ON", edit)


@hostile
def cells_are_of_other_types(folder: Path, outside: Path) -> None:
    database(folder, TABLE, row("x'00ff'", "7", "1.5", "x'80'"), row("NULL", "NULL"), row("12", "'b'"))


@hostile
def a_cell_is_huge(folder: Path, outside: Path) -> None:
    database(folder, TABLE, row("hex(zeroblob(20000000))"))


@hostile
def ids_are_paths(folder: Path, outside: Path) -> None:
    database(folder, TABLE, row(id_="'../../../outside/x'"), row(id_="'/etc/passwd'"), row(id_="'a' || char(10, 27)"))


@hostile
def ids_repeat(folder: Path, outside: Path) -> None:
    database(folder, TABLE, row(), row("'x = 3'"), row(id_="'gen_0'", code="'x = 4'"))


@hostile
def parents_form_a_circle(folder: Path, outside: Path) -> None:
    pairs = (("a", "b"), ("b", "c"), ("c", "a"), ("d", "d"))
    database(folder, TABLE, *(row(id_=f"'{one}'", parent=f"'{other}'") for one, other in pairs))


@hostile
def parents_are_many(folder: Path, outside: Path) -> None:
    rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)"
    database(folder, TABLE, f"INSERT INTO programs {rows} SELECT i, 'x = ' || i, i + 1, 1, '{{}}' FROM n")


@hostile
def metadata_is_deep(folder: Path, outside: Path) -> None:
    database(folder, TABLE, row(metadata=f"'{'[' * 100_000}'"), row(id_="'b'", metadata=f"'{'9' * 50_000}'"))


@hostile
def names_of_numbers_move_the_cursor(folder: Path, outside: Path) -> None:
    table = "CREATE TABLE programs (id TEXT, code TEXT, generation INTEGER, public_metrics TEXT)"
    row_with_name = "INSERT INTO programs VALUES ('a', 'x = 1' || char(10), 0, '{\"\\u001b[2J\\n\": 1}')"
    database(folder, table, row_with_name)
    (folder / "gen_0" / "results" / "metrics.json").write_text('{"public": {"\\u001b[2J\\n": 2}}')


@hostile
def metadata_is_of_other_types(folder: Path, outside: Path) -> None:
    strange = '{"llm_result": [1], "patch_name": {"a": 1}, "patch_type": 7, "api_costs": -1e999, "model_name": null}'
    database(folder, TABLE, row(metadata=f"'{strange}'"))


@hostile
def log_is_garbage(folder: Path, outside: Path) -> None:
    path = database(folder, TABLE, row())
    path.with_name("programs.sqlite-wal").write_bytes(os.urandom(50_000))


@hostile
def log_is_a_link(folder: Path, outside: Path) -> None:
    path = database(folder, TABLE, row())
    path.with_name("programs.sqlite-wal").symlink_to(outside / "secret.json")


@hostile
def journal_names_another_file(folder: Path, outside: Path) -> None:
    """A rollback journal that is hot names a super-journal at its end, which SQLite opens and may delete."""
    path = database(folder, TABLE, row())
    name = str(outside / "secret.json").encode()
    magic = bytes.fromhex("d9d505f920a163d7")
    header = magic + (0).to_bytes(4, "big") * 2 + (2).to_bytes(4, "big") + (512).to_bytes(4, "big")
    header += (4096).to_bytes(4, "big")
    tail = (1).to_bytes(4, "big") + name + len(name).to_bytes(4, "big") + sum(name).to_bytes(4, "big") + magic
    path.with_name("programs.sqlite-journal").write_bytes(header.ljust(512, b"\x00") + tail)


# -- folders of generations --------------------------------------------------------------------------------------------


@hostile
def generation_is_a_link(folder: Path, outside: Path) -> None:
    generation(folder)
    generation(outside, 1, SECRET)
    (folder / "gen_1").symlink_to(outside / "gen_1")


@hostile
def program_is_a_link(folder: Path, outside: Path) -> None:
    generation(folder)
    (folder / "gen_1").mkdir()
    (folder / "gen_1" / "main.py").symlink_to(outside / "secret.py")


@hostile
def program_is_a_pipe(folder: Path, outside: Path) -> None:
    generation(folder)
    (folder / "gen_1").mkdir()
    os.mkfifo(folder / "gen_1" / "main.py")


@hostile
def program_is_huge(folder: Path, outside: Path) -> None:
    os.truncate(generation(folder) / "main.py", 2**40)


@hostile
def program_is_too_large(folder: Path, outside: Path) -> None:
    generation(folder, code="x = 1\n" * 20_000)


@hostile
def program_is_no_text(folder: Path, outside: Path) -> None:
    generation(folder, code=b"\x00\xff\xfe\x1b[2J" + bytes(range(256)))


@hostile
def results_are_a_link(folder: Path, outside: Path) -> None:
    place = generation(folder)
    (place / "results").rmdir()
    (place / "results").symlink_to(outside)
    (outside / "metrics.json").write_text('{"combined_score": 4711.0}')


@hostile
def metrics_are_a_link(folder: Path, outside: Path) -> None:
    (generation(folder) / "results" / "metrics.json").symlink_to(outside / "secret.json")


@hostile
def metrics_are_deep(folder: Path, outside: Path) -> None:
    deep = '{"combined_score": 1, "public": ' + '{"a":' * 50_000
    (generation(folder) / "results" / "metrics.json").write_text(deep)


@hostile
def metrics_are_huge(folder: Path, outside: Path) -> None:
    path = generation(folder) / "results" / "metrics.json"
    path.touch()
    os.truncate(path, 2**40)


@hostile
def metrics_are_strange(folder: Path, outside: Path) -> None:
    results = generation(folder) / "results"
    (results / "metrics.json").write_text('{"combined_score": 1e999, "public": [], "private": {"\\u001b\\n": -1e999}}')
    (results / "correct.json").write_text('{"correct": "yes"}')


@hostile
def report_is_a_link(folder: Path, outside: Path) -> None:
    generation(folder)
    (folder / "meta_10.txt").symlink_to(outside / "secret.py")
    (folder / "meta").symlink_to(outside)
    (outside / "meta_20.txt").write_text(SECRET)


@hostile
def pickles_lie_about(folder: Path, outside: Path) -> None:
    generation(folder)
    for name in ("bandit_state.pkl", "extra.pkl", "gen_0/results/extra.pkl"):
        (folder / name).write_bytes(pickle.dumps(_Touches(outside / "touched")))


@hostile
def configuration_builds_objects(folder: Path, outside: Path) -> None:
    generation(folder)
    calls = f"a: !!python/object/apply:os.system ['touch {outside / 'touched'}']\n"
    (folder / "experiment_config.yaml").write_text(calls)


@hostile
def names_are_strange(folder: Path, outside: Path) -> None:
    generation(folder)
    for name in ("gen_99999999999999", "gen_-1", "gen_1\n", "gen_\u0663", "gen_1.5", "gen_01"):
        generation(folder / name / "..", 0) if (folder / name).exists() else (folder / name).mkdir()


# -- checkpoints -------------------------------------------------------------------------------------------------------


@hostile
def checkpoints_are_a_link(folder: Path, outside: Path) -> None:
    checkpoint(folder)
    checkpoint(outside, {"secret.json": {"id": "s", "code": SECRET}})
    (folder / "checkpoints" / "checkpoint_2").symlink_to(outside / "checkpoints" / "checkpoint_1")


@hostile
def programs_are_a_link(folder: Path, outside: Path) -> None:
    checkpoint(folder)
    checkpoint(outside, {"secret.json": {"id": "s", "code": SECRET}})
    (folder / "checkpoints" / "checkpoint_2").mkdir()
    (folder / "checkpoints" / "checkpoint_2" / "programs").symlink_to(
        outside / "checkpoints" / "checkpoint_1" / "programs"
    )


@hostile
def document_is_a_link(folder: Path, outside: Path) -> None:
    (checkpoint(folder) / "a.json").symlink_to(outside / "secret.json")


@hostile
def document_is_a_pipe(folder: Path, outside: Path) -> None:
    os.mkfifo(checkpoint(folder) / "a.json")


@hostile
def documents_are_none(folder: Path, outside: Path) -> None:
    checkpoint(folder, {"a.json": "[" * 100_000, "b.json": "[]", "c.json": "", "d.json": "9" * 50_000, "e.json": "NaN"})


@hostile
def document_is_huge(folder: Path, outside: Path) -> None:
    path = checkpoint(folder) / "a.json"
    path.touch()
    os.truncate(path, 2**40)


@hostile
def documents_are_strange(folder: Path, outside: Path) -> None:
    one = {"id": ["a"], "code": {"b": 1}, "parent_id": 7, "metrics": [1], "metadata": "m", "prompts": [1]}
    two = {"id": "../../outside/x", "code": CODE, "generation": -5, "iteration_found": 10**30, "timestamp": "now"}
    three = {"id": "t", "code": CODE, "prompts": {"a": {"responses": [[]], "user": 5}}, "metadata": {"island": 10**30}}
    checkpoint(folder, {"a.json": one, "b.json": two, "c.json": three})


@hostile
def texts_hold_half_a_pair(folder: Path, outside: Path) -> None:
    half = "\\ud800\\u0000\\u001b[2J"
    code = '{"id": "a", "code": "x = \'\\ud800\'"}'
    others = '"metadata": {"changes": "%s", "model": "%s"}, "prompts": {"p": {"user": "%s", "responses": ["%s"]}}'
    named = '{"id": "%s", "code": "x = 1\\n", "parent_id": "honest", "metrics": {"%s": 1}, ' + others + "}"
    checkpoint(folder, {"a.json": code, "b.json": named % ((half,) * 6)})


@hostile
def texts_are_long(folder: Path, outside: Path) -> None:
    long = "x\u2028\U0001f600" * 100_000
    exchange = {"system": long, "user": long, "responses": [long]}
    metadata = {"changes": long, "model": long, "island": 10**6}
    document = {"id": long, "code": CODE, "parent_id": "honest", "metadata": metadata, "prompts": {"p": exchange}}
    checkpoint(folder, {"a.json": document | {"metrics": {f"{n}{long[:300]}": 1.5 for n in range(2000)}}})


@hostile
def notes_are_many(folder: Path, outside: Path) -> None:
    """The scores of one program, other ones in each of many checkpoints."""
    checkpoint(folder)
    for number in range(2, 1300):
        programs = folder / "checkpoints" / f"checkpoint_{number}" / "programs"
        programs.mkdir(parents=True)
        document = {"id": "honest", "code": CODE, "metrics": {"combined_score": float(number)}}
        (programs / "honest.json").write_text(json.dumps(document))


@hostile
def islands_are_strange(folder: Path, outside: Path) -> None:
    place = checkpoint(folder).parent
    (place / "metadata.json").write_text(
        '{"islands": [1, null, {"a": 1}, ["honest", 7, ["x"]]], "best_program_id": []}'
    )


@hostile
def best_is_a_link(folder: Path, outside: Path) -> None:
    checkpoint(folder)
    (folder / "best").mkdir()
    (folder / "best" / "best_program.py").symlink_to(outside / "secret.py")
    (folder / "best" / "best_program_info.json").symlink_to(outside / "secret.json")


@hostile
def best_is_a_link_to_a_folder(folder: Path, outside: Path) -> None:
    checkpoint(folder)
    (outside / "best_program.py").write_text(SECRET)
    (folder / "best").symlink_to(outside)
