"""`evolve doctor`: what works on this machine, tested."""

import argparse

from evolve.cli import output
from evolve.review.table import Tone


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--json", action="store_true", help="as JSON on stdout")


def run(arguments: argparse.Namespace) -> int:
    """Try everything: 0 when all that is needed works, else 1."""
    from evolve.review import health

    checks = health.examine()
    well = health.healthy(checks)
    if arguments.json:
        output.print_json({"ok": well, "checks": [check.to_json() for check in checks]})
        return 0 if well else 1
    output.print_table(health.table(checks))
    output.say()
    for check in checks:
        if check.state is not health.State.OK:
            output.say(f"{check.name}: {check.fix}", Tone.BAD if check.needed else Tone.QUIET)
    output.say(
        "Everything that evolve needs works here." if well else "Something that evolve needs does not work here.",
        Tone.GOOD if well else Tone.BAD,
    )
    return 0 if well else 1
