"""`evolve new`: make a small task that runs at once, or convert a task of another system."""

import argparse

from evaluator.places import TEMPLATES
from evolve.apps.importing.bridge import OPENEVOLVE, SHINKA, hint_for_other_system
from evolve.apps.importing.finding import SeveralConfigurationsError
from evolve.apps.importing.task import from_openevolve, from_shinka
from evolve.cli import output
from evolve.core.errors import InputError
from evolve.core.files import write_folder
from evolve.core.invocation import command


def run(arguments: argparse.Namespace) -> int:
    """Make the folder, and end with 0. Raises InputError or MachineError when it cannot be made."""
    if arguments.from_openevolve is not None or arguments.from_shinka is not None:
        return _convert(arguments)
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
