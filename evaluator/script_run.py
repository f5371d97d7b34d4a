"""Running the evaluator script of a task on one program, in a sandbox for all that it starts: what came of it.

    evaluate.py PROGRAM RESULT.json                    it scores the program itself
    evaluate.py PROGRAM RESULT.json INSTANCES.json     a judge decides: it writes the program's answers

All three lie in the scratch folder, where the script starts. A script that is Python (`.py`) is run by this
interpreter, so that it has what is installed here; another one must be executable.
"""

import json
import os
import re
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from evaluator import explain
from evaluator.blame import TakesItsWorkerDown, tried
from evaluator.errors import SandboxError
from evaluator.evaluation import Outcome
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
"""Bytes of a result file, beside the answers that a judge wants."""
LACKING: Final = 3
"""The status of a script that ends because the machine lacks something, a compiler for instance. It is believed where
the script says so of the control as well (`evaluator.blame`)."""
_OUTPUT: Final = 2000
"""Characters of a script's output (the end of it) that its program's author is told, where it failed."""


_COMPILED: Final = (".c", ".cc", ".cpp", ".cu", ".cxx", ".f90", ".go", ".hs", ".nim", ".rs", ".swift", ".zig")
"""Suffixes of programs that become an executable file before they run."""
_FOLDERS: Final = re.compile(r"(?:/[\w.+-]++)++/?")
_SCRATCH: Final = re.compile(r"evolve-scratch(?:-\w+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptRun:
    """What running a script on one program came to. `told` is for whoever proposes; `result` is None unless the script
    ended well and wrote one. The rest was measured from outside, of all that it started together."""

    outcome: Outcome
    detail: str = ""
    told: str = ""
    result: ScriptResult | None = None
    cpu_s: float = 0.0
    wall_s: float = 0.0
    peak_memory_mb: float = 0.0


class ScriptRunner:
    """Runs one script for one suite; used by several threads at once. `control` is the source of a program that is
    known to run, by which the machine's fault is told from the program's."""

    def __init__(
        self, script: Script, folder: Path, suite: Suite, *, sandbox: TreeSandbox, turns: Turns, control: str
    ) -> None:
        """`folder` is the task's. Raises SandboxError when a variable that the script is to
        get is not set."""
        self._script = script
        self._folder = folder
        self._sandbox = sandbox
        self._turns = turns
        self._control = control
        places = {str(place) for place in (folder, sys.prefix, sys.base_prefix)} - {"/", "/usr"}
        self._places = [f"{place}/" for place in sorted(places, key=len, reverse=True)]
        self._instances = [instance.data for instance in suite.instances] if script.judged else None
        self._environment = {name: _variable(name) for name in script.environment}
        self._limits = suite.limits
        self._result_bytes = MOST_SAID + suite.limits.answer_bytes * len(self._instances or [])

    def run(self, source: str, *, backwards: bool = False) -> ScriptRun:
        """What the script says of a program, which may be any text; `backwards`: with the instances the other way
        round, the answers in the order of the suite all the same. Raises HarnessError and EvaluationCancelled."""
        try:
            program, detail = source.encode("utf-8"), ""
        except UnicodeEncodeError as cause:
            program, detail = b"", f"the source cannot be written as UTF-8 (character {cause.start})"
        if len(source) > SOURCE_LIMIT:
            detail = f"the source is {len(source)} characters long; at most {SOURCE_LIMIT} are run"
        if detail:
            return ScriptRun(outcome=Outcome.LOAD_ERROR, detail=detail, told=detail)
        try:
            return tried(
                self._in(self._turns.turn, program, backwards),
                self._in(self._turns.alone, program, backwards),
                self._in(self._turns.alone, self._control.encode("utf-8", "replace"), backwards),
                self._turns.cancellation,
            )
        except TakesItsWorkerDown as why:
            return ScriptRun(outcome=Outcome.CRASH, detail=str(why), told=str(why))

    def _in(
        self, place: Callable[[], AbstractContextManager[None]], program: bytes, backwards: bool
    ) -> Callable[[], ScriptRun]:
        def run() -> ScriptRun:
            with place():
                ending = self._sandbox.run(self._job(program, backwards), self._limits, self._turns.cancellation)
            found = self._read(ending)
            if not backwards or found.result is None or found.result.answers is None:
                return found
            return replace(found, result=replace(found.result, answers=found.result.answers[::-1]))

        return run

    def _job(self, program: bytes, backwards: bool) -> TreeJob:
        script = self._script
        files, names = {script.program_name: program}, [script.program_name, RESULT]
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
            environment={"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1", **self._environment},
        )

    def _read(self, ending: TreeEnding) -> ScriptRun:
        """What an ending says, in words for the program's author."""
        name, printed = self._script.path.name, self._without_paths(ending.output)
        outcome, result = ending.outcome, None
        if outcome is Outcome.OK:
            outcome, detail, result = self._judged(ending)
        elif outcome is Outcome.EXITED:
            last = printed.rstrip().rpartition("\n")[2]
            if ending.status == LACKING:
                raise SandboxError(f"{name} lacks something on this machine: {one_line(last, 300)}")
            if "Permission denied" in last and self._may_make_no_executable():
                raise SandboxError(
                    f"sandbox level {self._sandbox.level} lets no file be made executable, and {name} ended with "
                    f"{one_line(last, 200)!r}: install bubblewrap (on Debian and Ubuntu: apt-get install bubblewrap)"
                )
            detail = f"{name} ended with status {ending.status}" + (f": {one_line(last, 200)}" if last else "")
        else:
            detail = f"{name}: {ending.detail}"
        if result is not None:
            told = result.told()
            told = told if result.correct else f"{name} says that the program is not correct.\n\n{told}"
        else:
            output = explain.steady(end_of(printed, _OUTPUT))
            told = f"{detail}\n\nThe end of what it printed:\n{output}" if output else detail
        return ScriptRun(
            outcome=outcome,
            detail=explain.steady(explain.full(detail)),
            told=told.strip(),
            result=result,
            cpu_s=ending.cpu_s,
            wall_s=ending.wall_s,
            peak_memory_mb=ending.peak_memory_mb,
        )

    def _may_make_no_executable(self) -> bool:
        """Whether the programs are of a compiled language, and the sandbox is without bubblewrap."""
        compiled = Path(self._script.program_name).suffix in _COMPILED
        return compiled and self._sandbox.level == STANDARD

    def _judged(self, ending: TreeEnding) -> tuple[Outcome, str, ScriptResult | None]:
        """The outcome of a script that ended well, by what it wrote."""
        name = self._script.path.name
        if ending.result is None:
            return Outcome.INVALID_OUTPUT, f"{name} wrote no result file", None
        try:
            answers = None if self._instances is None else len(self._instances)
            result = read_result(ending.result, answers=answers, without_paths=self._without_paths)
        except ResultError as why:
            return Outcome.INVALID_OUTPUT, f"{name} wrote a result that is none: {why}", None
        if result.correct:
            return Outcome.OK, "", result
        first = result.feedback.strip().partition("\n")[0]
        said = f": {first}" if first else ""
        return Outcome.INFEASIBLE, f"{name} says that the program is not correct{said}", result

    def _without_paths(self, text: str) -> str:
        """A text without the places where this task, the interpreter and the scratch folder lie: they are another's
        elsewhere, and belong into no record."""
        for place in self._places:
            text = text.replace(place, "")
        return _FOLDERS.sub(_within_scratch, text)


def _within_scratch(path: re.Match[str]) -> str:
    """A path, from the scratch folder on where it leads there."""
    parts = path[0].split("/")
    scratch = max((place for place, part in enumerate(parts[:-1]) if _SCRATCH.fullmatch(part)), default=None)
    return path[0] if scratch is None else "/".join(parts[scratch + 1 :])


def _variable(name: str) -> str:
    value = os.environ.get(name)
    if value is None:
        raise SandboxError(f"the task's script needs the environment variable {name}, which is not set")
    return value
