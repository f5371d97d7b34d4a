"""Runs the evaluator script of a task on one program, in a sandbox for all processes that it starts.

    evaluate.py PROGRAM RESULT.json                    it scores the program itself
    evaluate.py PROGRAM RESULT.json INSTANCES.json     a judge decides: it writes the program's answers

All three files lie in the scratch folder, where the script starts. A Python script (`.py`) is run by this interpreter,
with the packages that are installed here; any other script must be executable.
"""

import json
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from evaluator.blame import TakesItsWorkerDown, run_with_retries
from evaluator.errors import SandboxError
from evaluator.evaluation import Outcome
from evaluator.feedback import hide_addresses, shorten_block
from evaluator.program_files import Files, ProgramFolder
from evaluator.recording import Recording, RecordingMismatch, ScriptRecording
from evaluator.running import SOURCE_LIMIT
from evaluator.sandbox.layers import STANDARD
from evaluator.sandbox.tree import SCRATCH, TreeEnding, TreeJob, TreeSandbox
from evaluator.sandbox.turns import Turns
from evaluator.script_result import ResultError, ScriptResult, end_of, read_result
from evaluator.task import Script, Suite
from evaluator.untrusted import one_line

RESULT: Final = "result.json"
INSTANCES: Final = "instances.json"
MOST_SAID: Final = 256 * 1024
"""Bytes of a result file, without the answers for a judge."""
LACKING: Final = 3
"""The exit status of a script where the machine lacks something, such as a compiler. It counts only if the script ends
so with the control too (`evaluator.blame`)."""
_OUTPUT: Final = 2000
"""Characters from the end of a failed script's output that the program's author gets."""
_COMPILED: Final = (".c", ".cc", ".cpp", ".cu", ".cxx", ".f90", ".go", ".hs", ".nim", ".rs", ".swift", ".zig")
"""Suffixes of programs that are compiled before they run."""
_FOLDERS: Final = re.compile(r"(?:/[\w.+-]++)++/?")
_SCRATCH: Final = re.compile(r"evolve-scratch(?:-\w+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptRun:
    """One run of a script on a program. `feedback` is for the program's author; `result` is None unless the script
    ended well and wrote one. Times and memory are measured from outside, over all processes together. `ending` is the
    script's own, None where it did not run or takes its worker down."""

    outcome: Outcome
    detail: str = ""
    feedback: str = ""
    result: ScriptResult | None = None
    cpu_s: float = 0.0
    wall_s: float = 0.0
    peak_memory_mb: float = 0.0
    ending: TreeEnding | None = None


class ScriptRunner:
    """Runs one script for one suite; used by several threads at once. `control` is a program that is known to
    run: if it fails too, the fault is the machine's."""

    def __init__(
        self,
        script: Script,
        folder: Path,
        suite: Suite,
        *,
        sandbox: TreeSandbox,
        turns: Turns,
        control: Files,
        program_folder: ProgramFolder | None = None,
    ) -> None:
        """`folder` is the task's; `program_folder` is there where programs have several files. Raises
        SandboxError when an environment variable of the script is not set."""
        self._script = script
        self._folder = folder
        self._sandbox = sandbox
        self._turns = turns
        self._control, self._several = control, program_folder
        self._frozen = {} if program_folder is None else program_folder.frozen()
        places = {str(place) for place in (folder, sys.prefix, sys.base_prefix)} - {"/", "/usr"}
        self._places = [f"{place}/" for place in sorted(places, key=len, reverse=True)]
        self._instances = [instance.data for instance in suite.instances] if script.judged else None
        self._environment = {name: _variable(name) for name in script.environment}
        self._limits = suite.limits
        self._result_bytes = MOST_SAID + suite.limits.answer_bytes * len(self._instances or [])

    def run(self, program: Files, *, backwards: bool = False) -> ScriptRun:
        """Run the script on a program, which may be any text. `backwards`: it gets the instances in reverse order; the
        answers of the result are in the suite's order. Raises HarnessError and EvaluationCancelled."""
        refused = self.refuse(program)
        if refused is not None:
            return refused
        content, control = self._written(program), self._written(self._control)
        try:
            return run_with_retries(
                self._in(self._turns.turn, content, backwards),
                self._in(self._turns.alone, content, backwards),
                self._in(self._turns.alone, control, backwards),
                self._turns.cancellation,
            )
        except TakesItsWorkerDown as why:
            return ScriptRun(outcome=Outcome.CRASH, detail=str(why), feedback=str(why))

    def refuse(self, program: Files) -> ScriptRun | None:
        """The run of a program that no script gets; None for any other."""
        detail = self._fault(program)
        return ScriptRun(outcome=Outcome.LOAD_ERROR, detail=detail, feedback=detail) if detail else None

    def record(self, program: Files) -> Recording:
        """A recording of `run`. Raises as `run`."""
        run = self.run(program)
        if run.ending is None:
            return Recording(takes_worker_down=run.detail)
        return Recording(script=ScriptRecording.of(run.ending, self._places))

    def play(self, recording: Recording) -> ScriptRun:
        """What `run` returned where the recording was made. Raises RecordingMismatch."""
        if recording.takes_worker_down is not None:
            why = recording.takes_worker_down
            return ScriptRun(outcome=Outcome.CRASH, detail=why, feedback=why)
        if recording.script is None:
            raise RecordingMismatch("its report is of another kind of task")
        try:
            return self._read(recording.script.ending(result_bytes=self._result_bytes), recording.script.places)
        except SandboxError as cause:  # where it ran, this was no verdict either
            raise RecordingMismatch(str(cause)) from None

    def _fault(self, program: Files) -> str:
        """Why a program is not run; "" if it is."""
        for path, source in program.items():
            which = "the source" if self._several is None else path
            try:
                source.encode("utf-8")
            except UnicodeEncodeError as cause:
                return f"{which} cannot be written as UTF-8 (character {cause.start})"
            if len(source) > SOURCE_LIMIT:
                return f"{which} is {len(source)} characters long; at most {SOURCE_LIMIT} are run"
            if self._several is not None and not self._several.editable(path):
                return f"{path} is not among the files that a program may have (`edit`)"
        return "" if self._several is None else program.excess()

    def _written(self, program: Files) -> dict[str, bytes]:
        """The files of a program as they lie in the scratch folder."""
        name = self._script.program_name
        if self._several is None:
            return {name: program.only.encode("utf-8", "replace")}
        texts = {path: text.encode("utf-8", "replace") for path, text in program.items()}
        return {f"{name}/{path}": content for path, content in sorted((self._frozen | texts).items())}

    def _in(
        self, place: Callable[[], AbstractContextManager[None]], program: Mapping[str, bytes], backwards: bool
    ) -> Callable[[], ScriptRun]:
        def run() -> ScriptRun:
            with place():
                ending = self._sandbox.run(self._job(program, backwards), self._limits, self._turns.cancellation)
            script_run = self._read(ending, self._places)
            result = script_run.result
            if not backwards or result is None or result.answers is None:
                return script_run
            return replace(script_run, result=replace(result, answers=result.answers[::-1]))

        return run

    def _job(self, program: Mapping[str, bytes], backwards: bool) -> TreeJob:
        script = self._script
        files, names = dict(program), [script.program_name, RESULT]
        if self._instances is not None:
            files[INSTANCES] = json.dumps(self._instances[::-1] if backwards else self._instances).encode()
            names.append(INSTANCES)
        interpreter = (sys.executable,) if script.path.suffix == ".py" else ()
        return TreeJob(
            argv=(*interpreter, str(script.path), *(f"{SCRATCH}/{name}" for name in names)),
            files=files,
            result=RESULT,
            result_bytes=self._result_bytes,
            readable=self._script.files,
            listed=(self._folder,),
            environment={"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"} | dict(self._environment),
        )

    def _read(self, ending: TreeEnding, places: Sequence[str]) -> ScriptRun:
        """The run of an ending, in words for the program's author, without the folders `places`."""
        name, printed = self._script.path.name, _without_paths(places, ending.output)
        outcome, result = ending.outcome, None
        if outcome is Outcome.OK:
            outcome, detail, result = self._judged(ending, places)
        elif outcome is Outcome.EXITED:
            last = printed.rstrip().rpartition("\n")[2]
            if ending.status == LACKING:
                raise SandboxError(f"{name} lacks something on this machine: {one_line(last, 300)}")
            if "Permission denied" in last and self._may_make_no_executable():
                raise SandboxError(
                    f"sandbox level {self._sandbox.level} lets no file be made executable, and {name} ended with "
                    f"'{one_line(last, 200)}': install bubblewrap (on Debian and Ubuntu: apt-get install bubblewrap)"
                )
            detail = f"{name} ended with status {ending.status}" + (f": {one_line(last, 200)}" if last else "")
        else:
            detail = f"{name}: {ending.detail}"
        if result is not None:
            text = result.as_text()
            text = text if result.correct else f"{name} says that the program is not correct.\n\n{text}"
        else:
            output = hide_addresses(end_of(printed, _OUTPUT))
            text = f"{detail}\n\nThe end of what it printed:\n{output}" if output else detail
        return ScriptRun(
            outcome=outcome,
            detail=hide_addresses(shorten_block(detail)),
            feedback=text.strip(),
            result=result,
            cpu_s=ending.cpu_s,
            wall_s=ending.wall_s,
            peak_memory_mb=ending.peak_memory_mb,
            ending=ending,
        )

    def _may_make_no_executable(self) -> bool:
        """Whether programs are compiled, and the sandbox is without bubblewrap."""
        names = [self._script.program_name, *(self._control if self._several is not None else ())]
        compiled = any(Path(name).suffix in _COMPILED for name in names)
        return compiled and self._sandbox.level == STANDARD

    def _judged(self, ending: TreeEnding, places: Sequence[str]) -> tuple[Outcome, str, ScriptResult | None]:
        """(outcome, detail, result) of a script that ended well."""
        name = self._script.path.name
        if ending.result is None:
            return Outcome.INVALID_OUTPUT, f"{name} wrote no result file", None
        try:
            answers = None if self._instances is None else len(self._instances)
            result = read_result(ending.result, answers=answers, without_paths=partial(_without_paths, places))
        except ResultError as why:
            return Outcome.INVALID_OUTPUT, f"{name} wrote an invalid result: {why}", None
        if result.correct:
            return Outcome.OK, "", result
        reason = result.feedback.strip().partition("\n")[0]
        reason = f": {reason}" if reason else ""
        return Outcome.INFEASIBLE, f"{name} says that the program is not correct{reason}", result


def _without_paths(places: Sequence[str], text: str) -> str:
    """A text without the paths of one machine (task, interpreter, scratch folder), which belong in no record."""
    for place in places:
        text = text.replace(place, "")
    return _FOLDERS.sub(_within_scratch, text)


def _within_scratch(path: re.Match[str]) -> str:
    """A path without the part up to the scratch folder, if it leads there."""
    parts = path[0].split("/")
    scratch = max((place for place, part in enumerate(parts[:-1]) if _SCRATCH.fullmatch(part)), default=None)
    return path[0] if scratch is None else "/".join(parts[scratch + 1 :])


def _variable(name: str) -> str:
    value = os.environ.get(name)
    if value is None:
        raise SandboxError(f"the task's script needs the environment variable {name}, which is not set")
    return value
