"""`evolve new`: make a small task that runs at once, or convert a task of another system."""

import argparse
from typing import Final

from evaluator.objective import Direction
from evaluator.places import TEMPLATES
from evaluator.repository_task import Measure
from evolve.apps.importing.bridge import OPENEVOLVE, SHINKA, hint_for_other_system
from evolve.apps.importing.finding import SeveralConfigurationsError
from evolve.apps.importing.task import from_openevolve, from_shinka
from evolve.apps.repository.making import RepositoryOptions, make_task
from evolve.cli import output
from evolve.core.errors import InputError
from evolve.core.files import write_folder
from evolve.core.invocation import command
from evolve.review.texts import counted

_OF_REPOSITORY: Final = (
    *("edit", "test", "bench", "bench_time", "bench_memory", "metric", "direction", "setup", "build", "test_count"),
    "dirty",
)
_NEEDED: Final = {
    "edit": "which files may change, such as --edit 'src/**/*.py'",
    "test": "the command that runs the tests, such as --test 'python -m pytest -q'",
    "bench": "the command that runs the benchmark, such as --bench 'python bench.py'",
}
_DIRECTIONS: Final = {"min": Direction.MINIMISE, "max": Direction.MAXIMISE}


def run(arguments: argparse.Namespace) -> int:
    """Make the folder, and end with 0. Raises InputError or MachineError when it cannot be made."""
    if arguments.from_openevolve is not None or arguments.from_shinka is not None:
        return _convert(arguments)
    if arguments.from_repo is not None:
        return _from_repository(arguments)
    given = [name for name in _OF_REPOSITORY if getattr(arguments, name)]
    if given:
        raise InputError(
            f"--{given[0].replace('_', '-')}: says what to do with a repository; name it: --from-repo PATH"
        )
    if arguments.config is not None:
        raise InputError("--config: chooses a configuration of DIR; it goes with --from-openevolve or --from-shinka")
    template = TEMPLATES / arguments.kind
    files = {path.name: path.read_bytes() for path in sorted(template.iterdir()) if path.is_file()}
    write_folder(arguments.folder, files)
    folder = arguments.folder
    output.say(f"{folder}: a task that runs as it is ({', '.join(files)})")
    output.say()
    output.say(command("run", "--task", folder, "--generations", "60", meaning="improve it, offline"))
    output.say(command("doctor", "--task", folder, meaning="is the task sound?"))
    return 0


def _from_repository(arguments: argparse.Namespace) -> int:
    """Make a task out of a repository. Raises InputError, MachineError and the evaluator's errors."""
    missing = next((name for name in ("edit", "test", "bench") if not getattr(arguments, name)), None)
    if missing is not None:
        raise InputError(f"--{missing} is missing: {_NEEDED[missing]}")
    if (arguments.metric is None) != (arguments.direction is None):
        raise InputError("--metric and --direction: a number that is read needs both (--direction min or max)")
    folder = arguments.folder
    options = RepositoryOptions(
        path=arguments.from_repo,
        edit=tuple(arguments.edit),
        test=arguments.test,
        bench=arguments.bench,
        measure=_measure(arguments),
        metric=arguments.metric,
        direction=None if arguments.direction is None else _DIRECTIONS[arguments.direction],
        setup=arguments.setup,
        build=arguments.build,
        test_count=arguments.test_count,
        dirty=arguments.dirty,
    )
    made = make_task(options, folder, tell=output.note)
    dirty = " with changes that are not committed" if made.dirty else ""
    output.say(f"{folder}: a task out of {arguments.from_repo} at {made.commit[:12]}{dirty}")
    output.say(f"  {counted(made.files, 'file')} may change, and each is what runs")
    if made.tests is None:
        output.say("  the tests pass; their number is not known, so their exit status alone is the gate")
    else:
        output.say(f"  {counted(made.tests, 'test')} passed; as many must pass for every program")
    unit = f" {options.measure.unit}".rstrip()
    output.say(
        f"  the benchmark measures {made.noise.median:.4g}{unit} ({options.measure.words}, "
        f"median of {made.noise.runs} runs); {made.noise.sentence()}"
    )
    if options.measure is Measure.METRIC:
        output.say("  the number is printed by the program's own process, so scores are self-judged")
    output.say()
    output.say(command("doctor", "--task", folder, meaning="is the task sound?"))
    output.say(command("run", "--task", folder, meaning="improve it"))
    return 0


def _measure(arguments: argparse.Namespace) -> Measure:
    if arguments.metric is not None:
        return Measure.METRIC
    if arguments.bench_memory:
        return Measure.MEMORY
    return Measure(arguments.bench_time or "cpu")


def _convert(arguments: argparse.Namespace) -> int:
    """Convert a task of another system. Raises InputError or MachineError."""
    folder = arguments.folder
    if arguments.from_openevolve is None:
        option, source, convert = SHINKA, arguments.from_shinka, from_shinka
    else:
        option, source, convert = OPENEVOLVE, arguments.from_openevolve, from_openevolve
    try:
        made = convert(source, folder, arguments.config)
    except SeveralConfigurationsError as error:
        output.complain(str(error))
        for name in error.names:
            output.note(command("new", folder, option, source, "--config", name), whole=True)
        return error.exit_code
    except InputError as error:
        way = hint_for_other_system(source, option, folder)
        if way is None:
            raise
        raise InputError(f"{error}; {way}") from None
    write_folder(folder, made.files)
    output.say(f"{folder}: a task made of {made.made_of}")
    for note in made.notes:
        output.say(f"  {note}")
    output.say()
    output.say(command("score", folder / made.initial, "--task", folder, meaning="does the evaluator run here?"))
    output.say(command("doctor", "--task", folder, meaning="is the task sound?"))
    output.say(command("run", folder / "run.yaml", meaning="improve it; first uncomment the models you want there"))
    return 0
