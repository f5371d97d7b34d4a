"""Runs the commands of a repository on a program: build, tests, benchmark; each in a sandbox and a tree of its own.

Every run begins with the same files: what setup made, the tracked files, those of the program, and what its build made.
Nothing that a run writes is there in the next one, so that no program can keep results from one measurement for the
next. Time and memory are measured from outside, over all processes of the command.
"""

import re
import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from evaluator.blame import TakesItsWorkerDown, run_with_retries
from evaluator.evaluation import Outcome
from evaluator.feedback import hide_addresses, shorten_block
from evaluator.program_files import Files
from evaluator.repository.matching import PatternTooSlow
from evaluator.repository.own_folder import OwnFolder
from evaluator.repository.packing import pack_frozen, pack_program, refused_path
from evaluator.repository.printed import (
    LEAST_NUMBER,
    MOST_NAMES,
    MOST_NUMBER,
    count_tests,
    failed_tests,
    printed_number,
)
from evaluator.repository_task import TREE, Measure, Repository
from evaluator.sandbox.bubblewrap import SYSTEM
from evaluator.sandbox.tree import TreeEnding, TreeJob, TreeSandbox
from evaluator.sandbox.turns import Turns
from evaluator.script_result import end_of
from evaluator.signals import name_of
from evaluator.task import Limits
from evaluator.untrusted import one_line

MOST_BUILT: Final = 512 << 20
"""Bytes of a tree after its setup or its build, packed."""
_BUILT: Final = "built.tar"
_RUN: Final = f'cd {TREE} && exec /bin/sh -c "$1"'
_KEEP: Final = f'(cd {TREE} && exec /bin/sh -c "$1") && exec "$2" -I -m tarfile -c {_BUILT} {TREE}'
_OUTPUT: Final = 3000
"""Characters from the end of a failed command's output that the program's author gets."""
_SCRATCH: Final = re.compile(rf"(?:/[\w.+-]+){{0,20}}/evolve-scratch[\w-]*/(?:{TREE}/)?")
_LEAST_S: Final = 1e-6
_KILLED: Final = 128


class CommandFailed(Exception):
    """Raised when a program's build, tests or benchmark fail. `detail` is one line, `output` the end of what the
    command printed."""

    def __init__(self, outcome: Outcome, detail: str, output: str = "") -> None:
        super().__init__(detail)
        self.outcome, self.detail, self.output = outcome, detail, output

    @property
    def feedback(self) -> str:
        """Both, for the program's author."""
        return f"{self.detail}\n\nThe end of what it printed:\n{self.output}" if self.output else self.detail


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltTree:
    """A program that is ready to run: archives, in the order in which they are unpacked."""

    archives: tuple[Path, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PassedTests:
    """Tests that passed: how many (None: not known), and what they took."""

    count: int | None
    cpu_s: float
    wall_s: float
    peak_memory_mb: float


class RepositoryCommands:
    """The commands of one repository; used by several threads at once. `close` removes its files."""

    def __init__(self, repository: Repository, limits: Limits, sandbox: TreeSandbox, turns: Turns) -> None:
        """Pack what all programs share. Raises TaskError."""
        self._repository, self._limits = repository, limits
        self._sandbox, self._turns = sandbox, turns
        self._readable = tuple(readable_of(repository.path))
        self.unchanged = repository.program()
        self._folder = OwnFolder()
        self._frozen = self._folder.path / "frozen.tar"
        pack_frozen(repository, self._frozen)

    def close(self) -> None:
        """Remove the packed files."""
        self._folder.close()

    def check(self, program: Files) -> None:
        """Raises CommandFailed for a program that is not run: a file may not change, is no text, or is too large."""
        path = refused_path(self._repository, program)
        if path is not None:
            allowed = self._repository.program_folder.allowed()
            raise CommandFailed(Outcome.LOAD_ERROR, f"{path} may not change: {allowed}")
        for path, text in program.items():
            try:
                text.encode("utf-8")
            except UnicodeEncodeError as cause:
                detail = f"{path} cannot be written as UTF-8 (character {cause.start})"
                raise CommandFailed(Outcome.LOAD_ERROR, detail) from None
        if excess := program.excess():
            raise CommandFailed(Outcome.LOAD_ERROR, excess)

    @contextmanager
    def tree(self, program: Files) -> Iterator[BuiltTree]:
        """The program, built. Raises CommandFailed."""
        self.check(program)
        with tempfile.TemporaryDirectory(dir=self._folder.path) as folder:
            packed, built = Path(folder) / "program.tar", Path(folder) / _BUILT
            pack_program(self._repository, program, self.unchanged, packed)
            prepared = () if self._repository.prepared is None else (self._repository.prepared,)
            tree = BuiltTree(archives=(*prepared, self._frozen, packed))
            if self._repository.build:
                built.write_bytes(self.kept("build", self._repository.build, tree))
                tree = BuiltTree(archives=(built, self._frozen, packed))  # the build may have changed a frozen file
            yield tree

    def kept(self, name: str, command: str, tree: BuiltTree) -> bytes:
        """The tree after a command, packed. Raises CommandFailed."""
        ending = self._run(tree, (_KEEP, "sh", command, sys.executable), result=_BUILT)
        self._require_ok(name, ending)
        if ending.result is None:
            raise CommandFailed(Outcome.INVALID_OUTPUT, f"{name}: the tree after it could not be kept")
        return ending.result

    def test(self, tree: BuiltTree) -> PassedTests:
        """Run the tests. Raises CommandFailed unless they pass, and as many as of the unchanged code."""
        repository = self._repository
        ending = self._run(tree, (_RUN, "sh", repository.test))
        try:
            count = count_tests(ending.output, repository.test_count)
        except PatternTooSlow as slow:
            raise self._failed(Outcome.INVALID_OUTPUT, f"test_count: {slow}", ending) from None
        if ending.outcome is Outcome.EXITED:
            names = failed_tests(ending.output)
            detail = f"the tests fail (exit status {ending.status})"
            if names:
                more = " and others" if len(names) == MOST_NAMES else ""
                detail = f"these tests fail: {', '.join(names)}{more}"
            raise self._failed(Outcome.INFEASIBLE, detail, ending)
        self._require_ok("tests", ending)
        if repository.tests is not None and (count is None or count < repository.tests):
            ran = "an unknown number of tests" if count is None else f"{count} tests"
            detail = f"the tests end well, but {ran} ran, and {repository.tests} ran of the unchanged code"
            raise self._failed(Outcome.INFEASIBLE, detail, ending)
        return PassedTests(count=count, cpu_s=ending.cpu_s, wall_s=ending.wall_s, peak_memory_mb=ending.peak_memory_mb)

    def measure(self, tree: BuiltTree) -> float:
        """One measurement of the benchmark, above 0: the median of its runs. Raises CommandFailed."""
        return statistics.median(self._run_of_benchmark(tree) for _ in range(self._repository.repeats))

    def _run_of_benchmark(self, tree: BuiltTree) -> float:
        repository = self._repository
        ending = self._run(tree, (_RUN, "sh", repository.bench))
        self._require_ok("benchmark", ending)
        if repository.measure is Measure.METRIC:
            try:
                number = printed_number(ending.output, repository.metric)
            except PatternTooSlow as slow:
                raise self._failed(Outcome.INVALID_OUTPUT, f"metric: {slow}", ending) from None
            if number is None:
                between = f"between {LEAST_NUMBER:g} and {MOST_NUMBER:g}"
                detail = f"the benchmark printed no number {between} for {repository.metric!r}"
                raise self._failed(Outcome.INVALID_OUTPUT, detail, ending)
            return number
        measured = {
            Measure.CPU: ending.cpu_s,
            Measure.WALL: ending.wall_s,
            Measure.MEMORY: ending.peak_memory_mb,
        }[repository.measure]
        return max(_LEAST_S, measured)

    def printed(self, command: str, tree: BuiltTree) -> str:
        """The end of what any command prints, however it ends. Raises CommandFailed only where it takes down its
        sandbox."""
        return self._run(tree, (_RUN, "sh", command)).output

    # -- one run --------------------------------------------------------------------------------------------------

    def _run(self, tree: BuiltTree, script: tuple[str, ...], *, result: str = "") -> TreeEnding:
        path = {"PATH": ":".join(self._repository.path)} if self._repository.path else {}
        job = TreeJob(
            argv=("/bin/sh", "-c", *script),
            archives=tree.archives,
            result=result,
            result_bytes=MOST_BUILT if result else 1 << 20,
            readable=self._readable,
            environment={"PYTHONHASHSEED": "0"} | path,
        )

        def run() -> TreeEnding:
            with self._turns.turn():
                return self._sandbox.run(job, self._limits, self._turns.cancellation)

        def alone() -> TreeEnding:
            with self._turns.alone():
                return self._sandbox.run(job, self._limits, self._turns.cancellation)

        def control() -> TreeEnding:
            plain = replace(job, argv=("/bin/sh", "-c", "true"), archives=(self._frozen,), result="")
            with self._turns.alone():
                return self._sandbox.run(plain, self._limits, self._turns.cancellation)

        try:
            return _of_the_shell(run_with_retries(run, alone, control, self._turns.cancellation))
        except TakesItsWorkerDown as why:
            raise CommandFailed(Outcome.CRASH, str(why)) from None

    def _require_ok(self, name: str, ending: TreeEnding) -> None:
        if ending.outcome is Outcome.OK:
            return
        last = one_line(self._shown(ending.output).rstrip().rpartition("\n")[2], 200)
        reason = f": {last}" if last and ending.outcome is Outcome.EXITED else ""
        raise self._failed(ending.outcome, f"{name}: {ending.detail}{reason}", ending)

    def _failed(self, outcome: Outcome, detail: str, ending: TreeEnding) -> CommandFailed:
        output = hide_addresses(end_of(self._shown(ending.output), _OUTPUT))
        return CommandFailed(outcome, hide_addresses(shorten_block(self._shown(detail))), output)

    def _shown(self, text: str) -> str:
        """A text without the paths of this machine, which belong in no record."""
        for place in sorted({*map(str, self._readable), sys.prefix, sys.base_prefix} - {"/", "/usr"}, key=len)[::-1]:
            text = text.replace(f"{place}/", "")
        return _SCRATCH.sub("", text)


def _of_the_shell(ending: TreeEnding) -> TreeEnding:
    """The ending of a command whose shell reports the signal that killed it as an exit status above 128."""
    if ending.outcome is not Outcome.EXITED or not _KILLED < ending.status <= _KILLED + 64:
        return ending
    return replace(ending, outcome=Outcome.CRASH, detail=f"it died of {name_of(ending.status - _KILLED)}")


def readable_of(path: tuple[str, ...]) -> Iterator[Path]:
    """What commands with this PATH must be able to read: its folders, and the environments of Python or conda that
    they belong to."""
    for folder in map(Path, path):
        if not folder.is_absolute() or not folder.is_dir() or any(folder.is_relative_to(place) for place in SYSTEM):
            continue
        yield folder
        configuration = folder.parent / "pyvenv.cfg"
        if configuration.is_file():
            yield folder.parent
            home = re.search(
                r"^home\s*=\s*(/.+?)\s*$", configuration.read_text(encoding="utf-8", errors="replace"), re.M
            )
            if home is not None and not Path(home[1]).is_relative_to("/usr"):
                yield Path(home[1]).parent
        elif (folder.parent / "conda-meta").is_dir():
            yield folder.parent
