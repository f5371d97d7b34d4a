"""A folder of another system as a task: the files of the new folder, and notes about them."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from glob import escape
from pathlib import Path
from typing import Final

from evaluator.places import TEMPLATES
from evaluator.program_files import MOST_FILE_BYTES, Files
from evaluator.task_yaml import SCRIPT_LIMITS, plain_name
from evaluator.untrusted import one_line
from evolve.apps.importing import finding, scripts, settings
from evolve.apps.importing.settings import TheirSettings
from evolve.core.errors import InputError, ProgramError
from evolve.core.files import read_source
from evolve.core.invocation import anywhere
from evolve.core.program import check_files, check_program, marked_regions
from evolve.lang.languages import language_of
from evolve.review.texts import counted

_THEIRS: Final = "theirs/"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedTask:
    """The files of the new folder by name, its program, its sources, and notes about the conversion."""

    files: dict[str, bytes]
    initial: str
    made_of: str
    notes: tuple[str, ...]


def from_openevolve(theirs: Path, folder: Path, configuration: Path | None) -> ImportedTask:
    """A task of OpenEvolve for `folder`, with the chosen `configuration`. Raises InputError,
    SeveralConfigurationsError."""
    finding.require_folder(theirs)
    configured = finding.openevolve_configuration(theirs, configuration)
    suffix = configured.document.get("file_suffix")
    evaluator = finding.evaluator_file(theirs, ["evaluator.py", "evaluate.py"])
    functions = scripts.names_in(evaluator)
    if not functions & {"evaluate", "*"}:
        raise InputError(f"{one_line(str(evaluator))}: defines no function evaluate(program_path)")
    stages = [f"evaluate_stage{number}" in functions for number in (1, 2, 3)]
    taken = settings.of_openevolve(configured.document, configured.origin, stages=[*stages, False].index(False))
    initial = finding.initial_program(
        theirs, ["initial_program", "initial", "init_program"], suffix if isinstance(suffix, str) else None
    )
    if initial.is_dir():
        taken = replace(taken, constants=taken.constants | {"PACKER": _packer(theirs)})
    return _put_together("openevolve", "OpenEvolve", folder, initial, evaluator, configured, taken)


def from_shinka(theirs: Path, folder: Path, configuration: Path | None) -> ImportedTask:
    """A task of ShinkaEvolve for `folder`, with the chosen `configuration`. Raises InputError,
    SeveralConfigurationsError."""
    finding.require_folder(theirs)
    configured = finding.shinka_configuration(theirs, configuration)
    evaluator = finding.evaluator_file(theirs, ["evaluate.py"])
    scripts.names_in(evaluator)
    taken = settings.of_shinka(configured.document, configured.origin)
    initial = finding.initial_program(theirs, ["initial"])
    if initial.is_dir():
        raise InputError(f"{one_line(str(initial))}: is a folder; a program of ShinkaEvolve is one file")
    return _put_together("shinka", "ShinkaEvolve", folder, initial, evaluator, configured, taken)


def _put_together(
    template: str,
    system: str,
    folder: Path,
    initial: Path,
    evaluator: Path,
    configured: finding.TheirConfiguration,
    taken: TheirSettings,
) -> ImportedTask:
    theirs, left_out = finding.collect(evaluator.parent, configurations=configured.files)
    if evaluator.name not in theirs:
        raise _leads_out(evaluator)
    program = _initial_program(initial, theirs)
    # In addition: the script, and stand-ins for modules of the other system that evaluators import.
    shipped = sorted(path for path in (TEMPLATES / template).rglob("*.py") if path.is_file())
    own = {path.relative_to(TEMPLATES / template).as_posix(): path.read_bytes() for path in shipped}
    prompt = (taken.prompt or "").strip() or "Improve the program: the larger its combined_score, the better."
    constants = {"EVALUATOR": _THEIRS + evaluator.name} | taken.constants
    files = program.files | {
        "evaluate.py": _with_constants(own.pop("evaluate.py").decode("utf-8"), constants).encode("utf-8"),
        "prompt.md": f"{prompt}\n".encode("utf-8", "replace"),
        "task.yaml": _task_yaml(system, folder, initial.name, program.edit, taken).encode("utf-8"),
        "run.yaml": _run_yaml(system, folder, configured.origin, taken).encode("utf-8"),
    }
    files |= own | {_THEIRS + name: content for name, content in theirs.items()}
    modules = {_module(name) for name in own}
    importable = {name.removeprefix(f"{initial.name}/"): content for name, content in program.files.items()} | theirs
    roots = [evaluator.name, *(name.removeprefix(f"{initial.name}/") for name in program.files)]
    at_once, later = scripts.absent(importable, roots, modules)
    taken_over = [
        *(["the system message (prompt.md)"] if taken.prompt is not None else []),
        *([f"{taken.wall_s:g} s for one evaluation (task.yaml)"] if taken.wall_s is not None else []),
        *([", ".join(f"{key} {value}" for key, value in taken.run.items()) + " (run.yaml)"] if taken.run else []),
        *([f"{counted(len(taken.models), 'model')} (comments in run.yaml)"] if taken.models else []),
    ]
    notes = [
        *([f"taken over: {'; '.join(taken_over)}"] if taken_over else []),
        *configured.notes,
        *taken.notes,
        *left_out,
        *program.notes,
        *(_how_passed(taken.constants["PACKER"]) if initial.is_dir() else []),
        *([_no_message(evaluator.parent)] if taken.prompt is None else []),
        *([f"not installed here: {', '.join(at_once)}: install it first, it is imported at load"] if at_once else []),
        *(
            [f"not installed here: {', '.join(later)}; only functions import it, so it may work without"]
            if later
            else []
        ),
    ]
    made_of = ", ".join([initial.name, evaluator.name, *([configured.origin] if configured.document else [])])
    return ImportedTask(files=files, initial=initial.name, made_of=made_of, notes=tuple(notes))


def _no_message(folder: Path) -> str:
    seems = finding.seeming_message(folder)
    return f"no system message found{f' ({seems}, may hold one)' if seems else ''}: write the task into prompt.md"


def _module(name: str) -> str:
    """The module name of a file `stand_ins/a/b.py`."""
    return name.removeprefix("stand_ins/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _with_constants(script: str, constants: Mapping[str, object]) -> str:
    """The script with these values of its constants, each on a line with a comment about its meaning."""
    for name, value in constants.items():
        line = re.search(rf"^{name} = .*?(?=(?:  #.*)?$)", script, re.MULTILINE)
        assert line is not None, name  # the template is ours
        script = f"{script[: line.start()]}{name} = {value!r}{script[line.end() :]}"
    return script


@dataclass(frozen=True, slots=True, kw_only=True)
class _InitialProgram:
    """The files of the initial program by name, with its folder's name if it has one. `edit` names those of a folder
    that may change, if some may not."""

    files: dict[str, bytes]
    edit: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def _initial_program(initial: Path, theirs: Mapping[str, bytes]) -> _InitialProgram:
    """The initial program, checked. Raises InputError for one that cannot be improved."""
    if not initial.is_dir():
        if initial.name not in theirs:
            raise _leads_out(initial)
        marked = _checked(initial)
        notes = () if marked else (f"{initial.name} has no EVOLVE-BLOCK markers: all of it may change",)
        return _InitialProgram(files={initial.name: theirs[initial.name]}, notes=notes)
    inside = f"{initial.name}/"
    files = {name: content for name, content in theirs.items() if name.startswith(inside)}
    texts, fixed = dict[str, str](), list[str]()
    for name, content in files.items():
        try:
            text = content.decode("utf-8") if len(content) <= MOST_FILE_BYTES else None
        except UnicodeDecodeError:
            text = None
        if text is None:
            fixed.append(one_line(name))
        else:
            texts[name.removeprefix(inside)] = text
    if not texts:
        raise InputError(f"{one_line(str(initial))}: holds no text that could be improved")
    try:
        check_files(Files.of(texts), folder=one_line(str(initial)))
    except (ProgramError, ValueError) as error:
        raise InputError(str(error)) from None
    notes = (f"the program has {counted(len(texts), 'file')}: those of {initial.name}",)
    if not fixed:
        return _InitialProgram(files=files, notes=notes)
    left = f"may not change: {', '.join(fixed)} (no text, or more than {MOST_FILE_BYTES >> 10} KiB)"
    return _InitialProgram(files=files, edit=tuple(map(escape, texts)), notes=(*notes, left))


def _packer(folder: Path) -> str | None:
    """The function that makes one text of a program's folder, by a script that starts OpenEvolve; None without one."""
    for path in sorted(folder.glob("*.py")):
        try:
            name = scripts.packer_in(read_source(path))
        except (InputError, SyntaxError, ValueError, RecursionError):  # whatever it is, it starts nothing
            continue
        if name is not None:
            return name
    return None


def _how_passed(packer: object) -> list[str]:
    way = "the path of the program's folder" if packer is None else f"a file with the text that {packer}(folder) makes"
    return [f"evaluate() gets {way} (PACKER in evaluate.py)"]


def _leads_out(path: Path) -> InputError:
    return InputError(f"{one_line(str(path))}: is a link out of the folder; put the file itself there")


def _checked(initial: Path) -> bool:
    """Whether the program has markers; without any, all of it may change. Raises InputError for anything else."""
    source = read_source(initial)
    try:
        check_program(source, language=language_of(initial.name), entry_point="", name=one_line(str(initial)))
    except ProgramError as error:
        raise InputError(str(error)) from None
    return bool(marked_regions(source))


def _task_yaml(system: str, folder: Path, initial: str, edit: Sequence[str], taken: TheirSettings) -> str:
    """`task.yaml`: the limits are those of their configuration, or ours."""
    wall = taken.wall_s or SCRIPT_LIMITS.wall_s or 0.0
    memory = taken.memory_mb or SCRIPT_LIMITS.memory_mb
    cpu = max(SCRIPT_LIMITS.cpu_total_s, 2 * wall)
    return "\n".join(
        [
            f"# Made of a task of {system}: evaluate.py runs its evaluator, which stands unchanged in theirs/.",
            "# The program shares the process that scores it, so its score is self-judged.",
            f"name: {json.dumps(plain_name(folder.resolve().name))}    # stays when the folder is moved or renamed",
            f"initial: {json.dumps(initial)}",
            *([f"edit: {json.dumps(edit, ensure_ascii=False)}"] if edit else []),
            "script: evaluate.py",
            "objective: {metric: combined_score, direction: maximise}",
            f"limits: {{wall_s: {wall:g}, cpu_total_s: {cpu:g}, memory_mb: {memory}}}    # of one evaluation in all",
            "",
        ]
    )


def _run_yaml(system: str, folder: Path, origin: str, taken: TheirSettings) -> str:
    """`run.yaml` for `evolve run`; models, and keys that need one, are comments until a person confirms them."""
    every_key = anywhere("run", "--print-config")
    lines = [
        f"# A run of the task in this folder. From {system}: {origin}. Every key: {every_key}",
        f"task: {json.dumps(str(folder.resolve()))}    # change it when the folder is moved, or give --task FOLDER",
        *(f"{key}: {json.dumps(value)}" for key, value in taken.run.items()),
    ]
    note = "Its models. Uncomment the models you want; for a budget in USD, give each its prices."
    if not taken.models:
        note = "No model configured: the offline proposer writes the patches."
    lines += ["", f"# {note}", "# models:", *([] if taken.models else ["#   - model: gpt-5-mini"])]
    for model in taken.models:
        entry = [f"{key}: {json.dumps(value)}" for key, value in model.items()]
        lines += [f"#   - {entry[0]}", *(f"#     {line}" for line in entry[1:])]
    lines += [f"# {key}: {json.dumps(value)}" for key, value in taken.later.items()]
    return "\n".join([*lines, ""])
