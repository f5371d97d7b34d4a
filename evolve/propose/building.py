"""From a model's answer to a new program, or to the precise reason why it is none. Pure."""

from collections.abc import Callable

from evaluator.program_files import Files
from evaluator.task import Task
from evolve.archive.reader import RunReader
from evolve.archive.records import ProgramRecord
from evolve.core.completion import Completion
from evolve.core.errors import PatchError
from evolve.core.program import PatchKind, program_hash
from evolve.patch import PatchReason, apply_to_files, parse_patch
from evolve.patch.features import features_of, lines_changed_of
from evolve.patch.undefined import check_names
from evolve.proposal import NewProgram
from evolve.propose.llm_proposer import problem_of


class Duplicate(PatchError):
    """Raised when a patch gives a program that this run already knows. `generation` is the known one's, `result` its
    outcome."""

    def __init__(self, generation: int, result: str) -> None:
        super().__init__(
            PatchReason.DUPLICATE,
            f"The patched program is the same as that of generation {generation} ({result}), comments and layout "
            "aside. Propose a change that has not been tried.",
        )
        self.generation = generation


def recorded_result(archive: RunReader, source_hash: str) -> tuple[int, str] | None:
    """The generation that has a program already, and its result in a few words of code's own; None for a new one."""
    record = archive.seen(source_hash)
    return None if record is None else (record.generation, _result(record))


def _result(record: ProgramRecord) -> str:
    if record.quarantine is not None:
        return "its score is not believed"
    if not record.correct or record.value is None:
        return f"not correct: {record.outcome.value}"
    return f"{record.objective.metric} = {record.value!r}"


def build_program(
    answer: Completion,
    *,
    kind: PatchKind,
    parent: Files,
    parent_works: bool,
    task: Task,
    known: Callable[[str], tuple[int, str] | None],
) -> NewProgram:
    """The program that `answer` makes of its parent: parsed and applied, whole or not at all.

    `known` maps the hash of a normalised program to the generation that has it already and its outcome, or None.
    Unless the task has a script, which may bind names in a program, no run may be certain to miss a name, but
    for what a parent that works has, too; of a repository each file is loaded, as `evolve new` has shown. Raises
    PatchError (with a message for the model), and Duplicate for a program that is known.
    """
    problem = problem_of(answer, kind)
    if problem is not None:
        raise PatchError(*problem)
    patch = parse_patch(answer.text, kind, several=task.program_folder is not None)
    files = apply_to_files(patch, parent, task.program_folder)
    source_hash = program_hash(files)
    before = known(source_hash)
    if before is not None:
        raise Duplicate(*before)
    if task.calls_entry_point:
        check_names(files.only, parent_source=parent.only, parent_works=parent_works, entry_point=task.entry_point)
    elif task.repository is not None:
        _check_modules(files, parent, parent_works=parent_works)
    return NewProgram(
        patch=patch,
        files=files,
        source_hash=source_hash,
        features=features_of(parent, files),
        lines=lines_changed_of(parent, files),
    )


def _check_modules(files: Files, parent: Files, *, parent_works: bool) -> None:
    """Check the names of each Python file that was changed. Nobody has shown that a new one is loaded."""
    for path, source in files.items():
        before = parent.get(path)
        if path.endswith(".py") and before is not None and before != source:
            check_names(source, parent_source=before, parent_works=parent_works, entry_point="", path=path)
