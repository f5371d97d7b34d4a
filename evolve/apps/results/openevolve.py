"""Reads a result folder of OpenEvolve: the union of its checkpoints, and its best program."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from evolve.apps.audit.claims import SCORE, Claimed
from evolve.apps.results import values
from evolve.apps.results.reading import MAX_PROGRAMS, MAX_SOURCE, FolderReader, source_of
from evolve.apps.results.values import Ancestry, Proposed, ResultProgram
from evolve.core.program import PatchKind

_CHECKPOINT: Final = re.compile(r"checkpoint_([0-9]{1,9})", re.ASCII)


def is_openevolve(reader: FolderReader) -> bool:
    """Whether the folder looks like a result of OpenEvolve."""
    return next(_checkpoints(reader), None) is not None or next(_bests(reader), None) is not None


def read_openevolve(reader: FolderReader) -> list[ResultProgram]:
    """The programs of all checkpoints, each id once; one that differs between two checkpoints is there as either text,
    or a note says what else differs."""
    programs: dict[str, ResultProgram] = {}
    for checkpoint in _checkpoints(reader):
        islands = _islands(reader, checkpoint)
        folder = checkpoint / "programs"
        for name in reader.files(folder):
            if not name.endswith(".json") or reader.is_repeated(folder / name):
                continue
            if len(programs) >= MAX_PROGRAMS:
                reader.note(f"{folder}: more than {MAX_PROGRAMS} programs; the others were not read")
                return list(programs.values())
            document = reader.document(folder / name)
            program = (
                _unread(name, checkpoint.name) if document is None else _of_document(document, name, checkpoint.name)
            )
            if program.id in islands and "island" not in values.mapping((document or {}).get("metadata")):
                program = replace(program, ancestry=replace(program.ancestry, island=islands[program.id]))
            _add(programs, program, checkpoint.name)
    for folder, name in _bests(reader):
        _add_best(reader, programs, folder, name)
    return list(programs.values())


def _checkpoints(reader: FolderReader) -> Iterator[Path]:
    """The checkpoints in the folder, or below its `checkpoints`, or the folder itself, in order."""
    here = reader.folders(reader.folder)
    places = [reader.folder, *([reader.folder / "checkpoints"] if "checkpoints" in here else [])]
    matches = [
        (int(match[1]), place / match[0])
        for place in places
        for match in map(_CHECKPOINT.fullmatch, reader.folders(place))
        if match
    ]
    for _, folder in sorted(matches):
        if "programs" in reader.folders(folder):
            yield folder
    if "programs" in here:
        yield reader.folder


def _islands(reader: FolderReader, checkpoint: Path) -> Mapping[str, int]:
    """The island of each program, as the checkpoint lists them."""
    listed = values.mapping(reader.document(checkpoint / "metadata.json")).get("islands")
    islands = listed[: values.MAX_NUMBERS] if isinstance(listed, list) else []
    return {
        member: number
        for number, members in enumerate(islands)
        if isinstance(members, list)
        for member in members
        if isinstance(member, str)
    }


def _unread(name: str, where_from: str) -> ResultProgram:
    """A program whose document cannot be read: its id alone is known, by the name of the file."""
    claimed = Claimed(
        id=values.word(name.removesuffix(".json")),
        generation=None,
        name="",
        source=None,
        correct=None,
        where_from=where_from,
        notes=(f"its document in {where_from} cannot be read",),
    )
    return ResultProgram(claimed=claimed)


def _of_document(document: Mapping[str, Any], name: str, where_from: str) -> ResultProgram:
    notes: list[str] = []
    metadata = values.mapping(document.get("metadata"))
    changes = values.word(metadata.get("changes"), most=values.MAX_WORDS)
    prompt, answer = _conversation(document.get("prompts"))
    parent = values.known_id(document.get("parent_id"))
    kind = PatchKind.INITIAL if parent is None else PatchKind.DIFF
    claimed = Claimed(
        id=values.known_id(document.get("id")) or values.word(name.removesuffix(".json")),
        generation=values.whole(document.get("generation"), values.MAX_GENERATION),
        name=values.word(changes.partition("\n")[0], most=80),
        source=source_of(document.get("code"), notes),
        correct=None,
        where_from=where_from,
        numbers=_numbers(document.get("metrics"), notes),
        notes=tuple(notes),
    )
    return ResultProgram(
        claimed=claimed,
        ancestry=Ancestry(
            parent=parent,
            island=values.whole(metadata.get("island"), values.MAX_ISLAND),
            order=(
                values.whole(document.get("iteration_found"), values.MAX_GENERATION),
                values.number(document.get("timestamp")) or 0.0,
            ),
        ),
        proposed=Proposed(
            kind=PatchKind.FULL if parent is not None and changes == "Full rewrite" else kind,
            description=changes,
            model=values.word(metadata.get("llm_model") or metadata.get("model")),
            prompt=prompt,
            answer=answer,
            usage=values.usage(None, None, None),
        ),
    )


def _numbers(metrics: object, notes: list[str]) -> Mapping[str, float]:
    """The metrics; without a `combined_score`, their mean ranks a program there: true counts as 1, NaN is left out."""
    read = values.numbers({SCORE: values.mapping(metrics).get(SCORE)}, metrics)
    if SCORE not in read:
        plain = (int(value) if isinstance(value, bool) else value for value in values.mapping(metrics).values())
        numbers = [number for number in map(values.number, plain) if number is not None]
        counted = [number for number in numbers if not math.isnan(number)] or numbers
        if counted:
            read[SCORE] = sum(counted) / len(counted)
            notes.append(f"no {SCORE} is recorded: the mean of its {len(counted)} metrics ranks it")
    return read


def _conversation(prompts: object) -> tuple[str, str]:
    """The prompt and the first answer to it, where the program's document holds them."""
    for exchange in values.mapping(prompts).values():
        asked, answers = values.mapping(exchange), values.mapping(exchange).get("responses")
        parts = [values.word(asked.get(key), most=values.MAX_TEXT) for key in ("system", "user")]
        answer = values.word(answers[0], most=values.MAX_TEXT) if isinstance(answers, list) and answers else ""
        return "\n\n".join(filter(None, parts)), answer
    return "", ""


def _add(programs: dict[str, ResultProgram], program: ResultProgram, where: str) -> None:
    """Add a program of a checkpoint. A later one with the same id adds its text if that differs, else notes."""
    known = programs.get(program.id)
    if known is None:
        programs[program.id] = program
        return
    old, new = known.claimed, program.claimed
    if new.source is None:
        return
    if old.source is None:
        programs[program.id] = program.noted(*old.notes)
    elif old.source != new.source:
        other = program.renamed(values.unused(f"{program.id} ({where})", programs))
        programs[other.id] = other.noted(f"{old.where_from} has another text under the id {program.id}")
    elif repr(old.score) != repr(new.score):
        programs[program.id] = known.noted(f"{old.where_from} and {where} differ: {SCORE} {old.score} / {new.score}")


def _bests(reader: FolderReader) -> Iterator[tuple[Path, str]]:
    """The files of the best program."""
    places = [reader.folder, *(reader.folder / name for name in reader.folders(reader.folder) if name == "best")]
    for place in places:
        for name in reader.files(place):
            if Path(name).stem == "best_program":
                yield place, name


def _add_best(reader: FolderReader, programs: dict[str, ResultProgram], folder: Path, name: str) -> None:
    """Add the best program unless a checkpoint holds it with the same text; what differs is a note."""
    text = reader.text(folder / name, MAX_SOURCE)
    recorded = reader.document(folder / "best_program_info.json") or {}
    document = {
        "id": f"best {name}",
        **{key: value for key, value in recorded.items() if key != "code"},
        "code": text,
        "iteration_found": recorded.get("iteration", 0),
    }
    _add(programs, _of_document(document, name, "best"), "best")
