"""Result folders of ShinkaEvolve and OpenEvolve, written as those systems write them."""

import json
import shutil
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

INITIAL: Final = (Path(__file__).resolve().parents[1] / "programs" / "placement" / "initial.py").read_text()
LOSES_MODELS: Final = """
def compute_model_placement(gpu_num, models):
    return {gpu: models[gpu : gpu + 1] for gpu in range(gpu_num)}
"""
INITIAL_SCORE: Final = 21.891622105209397
"""What INITIAL scores on `placement`, to the digits that published tables give."""

_COLUMNS: Final = """id TEXT PRIMARY KEY, code TEXT NOT NULL, language TEXT NOT NULL, parent_id TEXT,
    archive_inspiration_ids TEXT, top_k_inspiration_ids TEXT, generation INTEGER NOT NULL, timestamp REAL NOT NULL,
    code_diff TEXT, combined_score REAL, public_metrics TEXT, private_metrics TEXT, text_feedback TEXT,
    complexity REAL, embedding TEXT, correct BOOLEAN DEFAULT 0, children_count INTEGER NOT NULL DEFAULT 0,
    metadata TEXT, migration_history TEXT, island_idx INTEGER, system_prompt_id TEXT"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A program of a result folder, with the score that is claimed for it."""

    number: int
    code: str
    score: float | None = INITIAL_SCORE
    correct: bool = True
    parent: str | None = None
    inspirations: tuple[str, ...] = ()
    island: int = 0
    broken: bool = False  # its JSON is cut off
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """Its id in a database."""
        return f"id-{self.number:03d}"


def variant(number: int) -> str:
    """A program that places models as INITIAL does, and is another one."""
    return f"{INITIAL}\nVARIANT = {number}\n"


def three_hundred() -> list[Made]:
    """Programs of every sort: number 0 is the initial one, and of each ten that follow the last seven are odd."""
    programs = [Made(number=0, code=INITIAL, metadata={"patch_type": "init"})]
    for number in range(1, 300):
        made = Made(
            number=number,
            code=variant(number),
            parent=f"id-{(number - 1) // 2:03d}",
            inspirations=("id-000",) if number > 1 else (),
            island=number % 3,
            metadata={"patch_type": "diff", "patch_name": f"variant_{number}", "model_name": "some-model"},
        )
        programs.append(_odd(made, number % 10))
    return programs


def _odd(made: Made, sort: int) -> Made:
    def changed(**values: Any) -> Made:
        same = {name: getattr(made, name) for name in Made.__dataclass_fields__}
        return Made(**(same | values))

    match sort:
        case 3:
            return changed(code=f"{LOSES_MODELS}\nVARIANT = {made.number}\n", score=24.5)
        case 4:
            return changed(score=float("nan"))
        case 5:
            return changed(score=99.0)
        case 6:
            return changed(parent=f"gone-{made.number}")
        case 7:
            return changed(code=variant(made.number - 6))
        case 8:
            return changed(broken=True)
        case 9:
            return changed(code=f"def broken(:\n    {made.number}\n", score=0.0, correct=False)
    return made


def write_database(path: Path, programs: Iterable[Made], *, wal: bool = False) -> None:
    """`programs.sqlite`; with `wal`, half of the rows are only in the write-ahead log next to it."""
    live = path.with_name(f"live-{path.name}")
    connection = sqlite3.connect(live)
    connection.execute("PRAGMA journal_mode = WAL").fetchall()
    connection.execute("PRAGMA wal_autocheckpoint = 0").fetchall()
    connection.execute(f"CREATE TABLE programs ({_COLUMNS})")
    rows = [_row(made) for made in programs]
    half = len(rows) // 2 if wal else len(rows)
    _insert(connection, rows[:half])
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    _insert(connection, rows[half:])
    shutil.copy(live, path)
    if wal:
        shutil.copy(f"{live}-wal", f"{path}-wal")
    connection.close()
    for left in path.parent.glob(f"{live.name}*"):
        left.unlink()


def _insert(connection: sqlite3.Connection, rows: Sequence[dict[str, Any]]) -> None:
    for row in rows:
        names = ", ".join(row)
        connection.execute(f"INSERT INTO programs ({names}) VALUES ({', '.join('?' * len(row))})", [*row.values()])
    connection.commit()


def _row(made: Made) -> dict[str, Any]:
    return {
        "id": made.id,
        "code": made.code,
        "language": "python",
        "parent_id": made.parent,
        "archive_inspiration_ids": json.dumps(made.inspirations),
        "top_k_inspiration_ids": "[]",
        "generation": made.number,
        "timestamp": 1_700_000_000.0 + made.number,
        "combined_score": made.score,
        "public_metrics": '{"cut off' if made.broken else json.dumps({"success": 1.0}),
        "private_metrics": "{}",
        "correct": made.correct,
        "island_idx": made.island,
        "metadata": json.dumps(made.metadata | _result_of_call(made)),
    }


def _result_of_call(made: Made) -> dict[str, Any]:
    if made.parent is None:
        return {}
    call = {"content": answer(made), "system_msg": "Be good.", "msg": "Improve it.", "input_tokens": 100}
    return {"api_costs": 0.25, "llm_result": call | {"output_tokens": 10, "cost": 0.2}}


def answer(made: Made) -> str:
    """The answer of the model that made a program."""
    return f"<NAME>\nvariant_{made.number}\n</NAME>\n<DESCRIPTION>\nWhy.\n</DESCRIPTION>\n<CODE>\n{made.code}</CODE>\n"


def write_generations(folder: Path, programs: Sequence[Made]) -> None:
    """`gen_<n>/` for each program."""
    by_id = {made.id: made for made in programs}
    for made in programs:
        place = folder / f"gen_{made.number}"
        results = place / "results"
        results.mkdir(parents=True)
        (place / "main.py").write_text(made.code)
        parent = by_id.get(made.parent or "")
        if made.parent is not None:
            (place / "original.py").write_text("gone = 1\n" if parent is None else parent.code.replace("\n", " \n"))
            (place / "rewrite.txt").write_text(answer(made))
        (results / "correct.json").write_text(json.dumps({"correct": made.correct, "error": None}))
        metrics = json.dumps({"combined_score": made.score, "public": {"success": 1.0}, "private": {}})
        (results / "metrics.json").write_text(metrics[: -20 if made.broken else None])


def write_openevolve(folder: Path, programs: Sequence[Made], *, every: int = 100) -> None:
    """`checkpoints/`, one after each `every` programs, and `best/`. A checkpoint keeps its newest programs, and drops
    every fifth of the older ones."""
    for last in range(every, len(programs) + every, every):
        place = folder / "checkpoints" / f"checkpoint_{last}"
        (place / "programs").mkdir(parents=True)
        kept = [made for made in programs[:last] if made.number >= last - every or made.number % 5]
        for made in kept:
            document = json.dumps(_document(made))
            (place / "programs" / f"{made.id}.json").write_text(document[: -30 if made.broken else None])
        islands = [[made.id for made in kept if made.island == island] for island in range(3)]
        (place / "metadata.json").write_text(json.dumps({"islands": islands, "last_iteration": last}))
    best = folder / "best"
    best.mkdir()
    (best / "best_program.py").write_text(programs[-1].code)
    info = {"id": programs[-1].id, "metrics": {"combined_score": programs[-1].score}}
    (best / "best_program_info.json").write_text(json.dumps(info))


def _document(made: Made) -> dict[str, Any]:
    exchange = {"system": "Be good.", "user": "Improve it.", "responses": [answer(made)]}
    return {
        "id": made.id,
        "code": made.code,
        "language": "python",
        "parent_id": made.parent,
        "generation": made.number.bit_length(),
        "timestamp": 1_700_000_000.0 + made.number,
        "iteration_found": made.number,
        "metrics": {"combined_score": made.score, "timeout": True},
        "metadata": {"changes": "Full rewrite", "parent_metrics": {}},
        "prompts": None if made.parent is None else {"full_rewrite_user": exchange},
        "artifacts_json": None,
    }
