"""Reads a result folder of ShinkaEvolve: the union of its database and its folders `gen_<n>/`.

Its pickles are never opened, nor is `experiment_config.yaml`, whose tags name Python classes.
"""

import contextlib
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from evolve.apps.audit.claims import SCORE, Claimed
from evolve.apps.results import values
from evolve.apps.results.database import read_programs
from evolve.apps.results.reading import MAX_PROGRAMS, MAX_SOURCE, FolderReader, json_of, source_of
from evolve.apps.results.values import Ancestry, Proposed, Report, ResultProgram
from evolve.core.errors import PatchError
from evolve.core.program import PatchKind
from evolve.core.usage import NOTHING
from evolve.patch.format import parse_patch

DATABASES: Final = ("programs.sqlite", "evolution_db.sqlite")
_GENERATION: Final = re.compile(r"gen_([0-9]{1,9})", re.ASCII)
_REPORT: Final = re.compile(r"meta_([0-9]{1,9})\.txt", re.ASCII)
_IDENTIFIER: Final = re.compile(
    r"^\*\*Program Identifier:\*\* Generation ([0-9]{1,9}) - Patch Name (\S{1,200}) - Correct Program: (True|False)$",
    re.ASCII | re.MULTILINE,
)
"""The line of a report that names a program."""
_ANSWERS: Final = {"search_replace.txt": PatchKind.DIFF, "rewrite.txt": PatchKind.FULL}
_KINDS: Final = {"init": PatchKind.INITIAL} | {kind.value: kind for kind in PatchKind if kind is not PatchKind.TUNE}


def is_shinka(reader: FolderReader) -> bool:
    """Whether the folder looks like a result of ShinkaEvolve."""
    names = {*reader.files(reader.folder)}
    folders = (name for name in reader.folders(reader.folder) if _GENERATION.fullmatch(name))
    return not names.isdisjoint(DATABASES) or next(folders, None) is not None


def read_shinka(reader: FolderReader, reports: Sequence[Report]) -> list[ResultProgram]:
    """The programs in database and folders. Where the two differ, the program of the folder is one of its own, or a
    note says so. `reports` name the programs that only a folder holds."""
    programs = _of_databases(reader)
    by_generation = defaultdict[int | None, list[int]](list)
    for index, program in enumerate(programs):
        by_generation[program.claimed.generation].append(index)
    alone: list[_Generation] = []
    for generation in _generations(reader):
        indices = by_generation[generation.number]
        same = [index for index in indices if programs[index].claimed.source == generation.source]
        if same:
            programs[same[0]] = _both(programs[same[0]], generation)
        elif indices and generation.source is None:
            programs[indices[0]] = programs[indices[0]].noted(*generation.notes, "its folder holds no such text")
        else:
            differs = indices and f"database and folder differ in the text of generation {generation.number}"
            alone.append(replace(generation, notes=(*generation.notes, *([differs] if differs else []))))
    return programs + _of_folders(alone, programs, _named_in(reports))


def read_reports(reader: FolderReader) -> list[Report]:
    """The reports `meta_<n>.txt`."""
    folders = [reader.folder, *(reader.folder / name for name in reader.folders(reader.folder) if name == "meta")]
    matches = [(folder, match) for folder in folders for match in map(_REPORT.fullmatch, reader.files(folder)) if match]
    texts = [(int(match[1]), match[0], reader.text(folder / match[0])) for folder, match in matches]
    return [
        Report(programs=programs, name=name, text=values.word(text, most=values.MAX_TEXT))
        for programs, name, text in sorted(texts, key=lambda entry: entry[:2])
        if text is not None
    ]


def _named_in(reports: Sequence[Report]) -> Mapping[int, tuple[str, bool]]:
    """By generation: the patch name that a report states, and whether it calls the program correct."""
    stated = (match for report in reports for match in _IDENTIFIER.finditer(report.text))
    return {int(match[1]): (values.word(match[2]), match[3] == "True") for match in stated}


# -- the database ------------------------------------------------------------------------------------------------------


def _of_databases(reader: FolderReader) -> list[ResultProgram]:
    """The rows of all databases, each id once."""
    programs: dict[str, ResultProgram] = {}
    for name in DATABASES:
        for row in read_programs(reader, reader.folder / name):
            program = _of_row(row, name)
            if program is None:
                reader.note(f"{reader.folder / name}: a row without an id was left out")
            elif program.id not in programs:
                programs[program.id] = program
            elif programs[program.id] != program:
                reader.note(f"{reader.folder / name}: another row with the id {program.id} was left out")
    return list(programs.values())


def _of_row(row: Mapping[str, Any], where_from: str) -> ResultProgram | None:
    notes: list[str] = []
    name = values.known_id(row["id"])
    if name is None:
        return None
    generation = values.whole(row.get("generation"), values.MAX_GENERATION)
    metadata = values.mapping(json_of(row.get("metadata")))
    asked = values.mapping(metadata.get("llm_result"))
    inspired = [json_of(row.get(column)) for column in ("archive_inspiration_ids", "top_k_inspiration_ids")]
    metrics = [json_of(row.get(column)) for column in ("public_metrics", "private_metrics")]
    prompts = [values.word(asked.get(key), most=values.MAX_TEXT) for key in ("system_msg", "msg")]
    claimed = Claimed(
        id=name,
        generation=generation,
        name=values.word(metadata.get("patch_name")),
        source=source_of(row["code"], notes),
        correct=values.truth(row.get("correct")),
        where_from=where_from,
        numbers=values.numbers({SCORE: row.get("combined_score")}, *metrics),
        notes=tuple(notes),
    )
    return ResultProgram(
        claimed=claimed,
        ancestry=Ancestry(
            parent=values.known_id(row.get("parent_id")),
            inspirations=tuple(dict.fromkeys(id_ for listed in inspired for id_ in values.ids(listed))),
            island=values.whole(row.get("island_idx"), values.MAX_ISLAND),
            order=(generation, values.number(row.get("timestamp")) or 0.0),
        ),
        proposed=Proposed(
            kind=_KINDS.get(values.word(metadata.get("patch_type")), PatchKind.DIFF),
            description=values.word(metadata.get("patch_description"), most=values.MAX_WORDS),
            model=values.word(metadata.get("model_name") or asked.get("model_name")),
            prompt="\n\n".join(filter(None, prompts)),
            answer=values.word(asked.get("content"), most=values.MAX_TEXT),
            usage=values.usage(
                asked.get("input_tokens"), asked.get("output_tokens"), metadata.get("api_costs", asked.get("cost"))
            ),
        ),
    )


# -- the folders -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Generation:
    """One folder `gen_<n>/`: its program, the text of its parent, the answer of the model, and the recorded results."""

    number: int
    source: str | None
    original: str | None
    answer: str
    kind: PatchKind
    correct: bool | None
    numbers: Mapping[str, float]
    notes: tuple[str, ...]


def _generations(reader: FolderReader) -> list[_Generation]:
    matches = (_GENERATION.fullmatch(name) for name in reader.folders(reader.folder))
    named = sorted((int(match[1]), match[0]) for match in matches if match)
    if len(named) > MAX_PROGRAMS:
        reader.note(f"{reader.folder}: holds more than {MAX_PROGRAMS} generations; the later ones were not read")
    return [_generation(reader, number, reader.folder / name) for number, name in named[:MAX_PROGRAMS]]


def _generation(reader: FolderReader, number: int, folder: Path) -> _Generation:
    notes: list[str] = []
    before, names = len(reader.notes), reader.files(folder)
    answers = [name for name in _ANSWERS if name in names]
    results = folder / "results"
    listed = reader.files(results) if "results" in reader.folders(folder) else []
    recorded = {name: reader.document(results / f"{name}.json") for name in ("correct", "metrics") if listed}
    metrics = values.mapping(recorded.get("metrics"))
    source = source_of(_text_named(reader, folder, names, "main"), notes)
    original = _text_named(reader, folder, names, "original")
    generation = _Generation(
        number=number,
        source=source,
        original=original,
        answer=(reader.text(folder / answers[0]) or "")[: values.MAX_TEXT] if answers else "",
        kind=_ANSWERS[answers[0]] if answers else PatchKind.INITIAL if original is None else PatchKind.DIFF,
        correct=values.truth(values.mapping(recorded.get("correct")).get("correct")),
        numbers=values.numbers({SCORE: metrics.get(SCORE)}, metrics, metrics.get("public"), metrics.get("private")),
        notes=(),
    )
    return replace(generation, notes=(*notes, *reader.notes[before:]))


def _text_named(reader: FolderReader, folder: Path, names: Sequence[str], stem: str) -> str | None:
    """The text of `stem.<ext>`, the Python file of several."""
    candidates = sorted((name for name in names if Path(name).stem == stem), key=lambda name: not name.endswith(".py"))
    return reader.text(folder / candidates[0], MAX_SOURCE) if candidates else None


def _both(program: ResultProgram, generation: _Generation) -> ResultProgram:
    """A program of the database, with what only its folder holds, and a note for what differs."""
    stated, folder = program.claimed, f"gen_{generation.number}"
    pairs: dict[str, tuple[object, object]] = {"correct": (stated.correct, generation.correct)}
    pairs |= {name: (value, generation.numbers.get(name)) for name, value in stated.numbers.items()}
    differing = [
        f"database and folder differ: {name} {one} / {other}"
        for name, (one, other) in sorted(pairs.items())
        if one is not None and other is not None and repr(one) != repr(other)
    ]
    claimed = replace(
        stated,
        numbers={**generation.numbers, **stated.numbers},
        correct=generation.correct if stated.correct is None else stated.correct,
        where_from=f"{stated.where_from}, {folder}",
    )
    proposed = replace(program.proposed, answer=program.proposed.answer or generation.answer)
    return replace(program, claimed=claimed, proposed=proposed).noted(*generation.notes, *differing)


def _of_folders(
    generations: Sequence[_Generation], known: Sequence[ResultProgram], named: Mapping[int, tuple[str, bool]]
) -> list[ResultProgram]:
    """The programs that only a folder holds. The parent of one is the latest earlier program with the text of its
    `original` file, which that system writes without trailing blanks."""
    by_text: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for program in known:
        if program.claimed.source is not None:
            by_text[_bare(program.claimed.source)].append((program.claimed.generation or 0, program.id))
    for generation in generations:
        if generation.source is not None:
            by_text[_bare(generation.source)].append((generation.number, f"gen_{generation.number}"))
    return [_of_folder(generation, by_text, named.get(generation.number)) for generation in generations]


def _bare(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().split("\n"))


def _of_folder(
    generation: _Generation, by_text: Mapping[str, Sequence[tuple[int, str]]], stated: tuple[str, bool] | None
) -> ResultProgram:
    name, parent, notes = f"gen_{generation.number}", None, generation.notes
    patch_name = description = ""
    if generation.original is not None:
        earlier = [pair for pair in by_text.get(_bare(generation.original), ()) if pair[0] < generation.number]
        parent = max(earlier)[1] if earlier else None
        notes = notes if earlier else (*notes, "its parent is not in the folder")
    with contextlib.suppress(PatchError):  # an answer in another form names nothing
        patch = parse_patch(generation.answer, generation.kind)
        patch_name, description = values.word(patch.name), values.word(patch.description, most=values.MAX_WORDS)
    correct = generation.correct
    if stated is not None:
        patch_name, correct = stated[0], stated[1] if correct is None else correct
    return ResultProgram(
        claimed=Claimed(
            id=name,
            generation=generation.number,
            name=patch_name,
            source=generation.source,
            correct=correct,
            where_from=name,
            numbers=generation.numbers,
            notes=notes,
        ),
        ancestry=Ancestry(parent=parent, order=(generation.number, 0.0)),
        proposed=Proposed(
            kind=generation.kind,
            description=description,
            answer=generation.answer,
            usage=replace(NOTHING, cost_usd=None, estimated=True),
        ),
    )
