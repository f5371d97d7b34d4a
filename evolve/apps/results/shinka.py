"""Reads a result folder of ShinkaEvolve: the union of its database and its folders `gen_<n>/`.

Its pickles are never opened, nor is `experiment_config.yaml`, whose tags name Python classes.
"""

import contextlib
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

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
_PERFORMANCE: Final = re.compile(r"- \*\*Performance\*\*: ")
_IDENTIFIER: Final = re.compile(
    r"\*\*Program Identifier:\*\* Generation ([0-9]{1,9}) - Patch Name (\S{1,200}) - Correct Program: (True|False)",
    re.ASCII,
)
"""The lines of a report that say how a program performed, and that name it."""
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
    alone: list[_Alone] = []
    for program, original in _of_folders(reader, _stated_in(reports)):
        claimed, indices = program.claimed, by_generation[program.claimed.generation]
        same = [index for index in indices if programs[index].claimed.source == claimed.source]
        if same:
            programs[same[0]] = _both(programs[same[0]], program)
        elif indices and claimed.source is None:
            programs[indices[0]] = programs[indices[0]].noted(*claimed.notes, "its folder holds no such text")
        else:
            differs = [f"database and folder differ in the text of generation {claimed.generation}"] if indices else []
            alone.append((program.noted(*differs), original))
    return programs + _with_parents(alone, programs)


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


class _Stated(NamedTuple):
    """What a report states of a program: its patch name, whether it is correct, and how it performed, in words."""

    name: str
    correct: bool
    performance: str


def _stated_in(reports: Sequence[Report]) -> Mapping[int, _Stated]:
    """What the reports state of each generation; a later one counts."""
    stated: dict[int, _Stated] = {}
    for report in reports:
        performance = ""
        for line in report.text.split("\n"):
            if match := _PERFORMANCE.match(line):
                performance = f"{report.name} says: {line[match.end() :]}"
            elif match := _IDENTIFIER.fullmatch(line):
                stated[int(match[1])] = _Stated(values.word(match[2]), match[3] == "True", performance)
                performance = ""
    return stated


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


_Alone = tuple[ResultProgram, str | None]
"""A program as its folder alone states it, and the text of its parent."""


def _of_folders(reader: FolderReader, stated: Mapping[int, _Stated]) -> list[_Alone]:
    matches = (_GENERATION.fullmatch(name) for name in reader.folders(reader.folder))
    folders = sorted((int(match[1]), match[0]) for match in matches if match)
    if len(folders) > MAX_PROGRAMS:
        reader.note(f"{reader.folder}: holds more than {MAX_PROGRAMS} generations; the later ones were not read")
    return [_of_folder(reader, number, name, stated.get(number)) for number, name in folders[:MAX_PROGRAMS]]


def _of_folder(reader: FolderReader, number: int, name: str, stated: _Stated | None) -> _Alone:
    """The program of one `gen_<n>/`; `stated` is what a report says of it."""
    notes: list[str] = []
    folder, before = reader.folder / name, len(reader.notes)
    names, results = reader.files(folder), folder / "results"
    answers = [answer for answer in _ANSWERS if answer in names]
    listed = reader.files(results) if "results" in reader.folders(folder) else []
    correct, metrics = (
        values.mapping(reader.document(results / file) if file in listed else None)
        for file in ("correct.json", "metrics.json")
    )
    original = _text_named(reader, folder, names, "original")
    answer = (reader.text(folder / answers[0]) or "")[: values.MAX_TEXT] if answers else ""
    kind = _ANSWERS[answers[0]] if answers else PatchKind.INITIAL if original is None else PatchKind.DIFF
    patch_name = description = ""
    with contextlib.suppress(PatchError):  # an answer in another form names nothing
        patch = parse_patch(answer, kind)
        patch_name, description = values.word(patch.name), values.word(patch.description, most=values.MAX_WORDS)
    source, is_correct = (
        source_of(_text_named(reader, folder, names, "main"), notes),
        values.truth(correct.get("correct")),
    )
    claimed = Claimed(
        id=f"gen_{number}",
        generation=number,
        name=patch_name if stated is None else stated.name,
        source=source,
        correct=stated.correct if is_correct is None and stated is not None else is_correct,
        where_from=name,
        numbers=values.numbers({SCORE: metrics.get(SCORE)}, metrics, metrics.get("public"), metrics.get("private")),
        notes=(*notes, *reader.notes[before:], *([stated.performance] if stated and stated.performance else [])),
    )
    unknown = replace(NOTHING, cost_usd=None, estimated=True)
    proposed = Proposed(kind=kind, description=description, answer=answer, usage=unknown)
    return ResultProgram(claimed=claimed, ancestry=Ancestry(order=(number, 0.0)), proposed=proposed), original


def _text_named(reader: FolderReader, folder: Path, names: Sequence[str], stem: str) -> str | None:
    """The text of `stem.<ext>`, the Python file of several."""
    candidates = sorted((name for name in names if Path(name).stem == stem), key=lambda name: not name.endswith(".py"))
    return reader.text(folder / candidates[0], MAX_SOURCE) if candidates else None


def _both(program: ResultProgram, other: ResultProgram) -> ResultProgram:
    """A program of the database, with what only its folder holds, and a note for what differs."""
    stated, theirs = program.claimed, other.claimed
    pairs: dict[str, tuple[object, object]] = {"correct": (stated.correct, theirs.correct)}
    pairs |= {name: (value, theirs.numbers.get(name)) for name, value in stated.numbers.items()}
    differing = [
        f"database and folder differ: {name} {one} / {another}"
        for name, (one, another) in sorted(pairs.items())
        if one is not None and another is not None and repr(one) != repr(another)
    ]
    claimed = replace(
        stated,
        numbers=dict(theirs.numbers) | dict(stated.numbers),
        correct=theirs.correct if stated.correct is None else stated.correct,
        where_from=f"{stated.where_from}, {theirs.where_from}",
    )
    proposed = replace(program.proposed, answer=program.proposed.answer or other.proposed.answer)
    return replace(program, claimed=claimed, proposed=proposed).noted(*theirs.notes, *differing)


def _with_parents(alone: Sequence[_Alone], known: Sequence[ResultProgram]) -> list[ResultProgram]:
    """The programs that only a folder holds, with their parents: the latest earlier program with the text of the file
    `original`, which that system writes without trailing blanks."""
    by_text: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for program in [*known, *(program for program, _ in alone)]:
        if program.claimed.source is not None:
            by_text[_bare(program.claimed.source)].append((program.claimed.generation or 0, program.id))
    programs = []
    for program, original in alone:
        number = program.claimed.generation or 0
        earlier = [] if original is None else [pair for pair in by_text[_bare(original)] if pair[0] < number]
        if earlier:
            program = replace(program, ancestry=replace(program.ancestry, parent=max(earlier)[1]))
        elif original is not None:
            program = program.noted("its parent is not in the folder")
        programs.append(program)
    return programs


def _bare(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().split("\n"))
