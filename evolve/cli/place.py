"""`evolve place`: models placed on a real cluster by discovered programs."""

import argparse

from evaluator.task_files import load_task
from evolve.apps.placing import report
from evolve.apps.placing.cluster import cluster_file, read_cluster
from evolve.apps.placing.plan import PlacementPlan, Solved, best_plan, reached_json, solved, svg, to_json
from evolve.apps.placing.report import tried_table
from evolve.apps.placing.trying import Reached, named, shipped, try_programs
from evolve.cli import output
from evolve.cli.options import confined, warn_of
from evolve.core.files import require_writable, write_file
from evolve.review.table import Tone

_MOST_ROWS = 40


def run(arguments: argparse.Namespace) -> int:
    """Print a placement. 0 with one, 1 when no program found one. Raises InputError for the cluster's file or a program
    that cannot be read, SandboxError and HarnessError for the machine."""
    require_writable(arguments.svg, overwrite=arguments.force)
    cluster = read_cluster(cluster_file(arguments.cluster))
    task = load_task("placement")
    programs = shipped(task) if arguments.program is None else [named(arguments.program, task)]
    with output.progress("programs tried:", len(programs)) as shown:
        tried = try_programs(
            task,
            cluster,
            programs,
            seconds=arguments.seconds,
            heard=lambda _: shown.step(),
            opened=warn_of,
            confined=confined(arguments),
        )
    with output.progress(f"an exact solver, {arguments.seconds:g} s"):
        solver = solved(cluster, seconds=arguments.seconds)
    plan = best_plan(cluster, tried, solver)
    if plan is None:
        return _print_failure(tried, as_json=arguments.json)
    if arguments.svg is not None:
        write_file(arguments.svg, svg(plan).encode(), overwrite=arguments.force)
    if arguments.json:
        output.print_json(to_json(plan, solver))
        return int(plan.by_no_program)
    _print_plan(plan, solver)
    if arguments.svg is not None:
        output.say(f"{arguments.svg}: a picture of it", Tone.QUIET)
    if plan.by_no_program:
        output.say()
        output.say(f"No program found a placement: this one is {plan.program}.", Tone.BAD)
    return int(plan.by_no_program)


def _print_failure(tried: list[Reached], *, as_json: bool) -> int:
    if as_json:
        output.print_json({"program": None, "pressure": None, "tried": [reached_json(each) for each in tried]})
    else:
        output.print_table(tried_table(tried))
        output.say()
        output.say("No program found a placement, but there may be one. Give more --seconds, or more memory.", Tone.BAD)
    return 1


def _print_plan(plan: PlacementPlan, solver: Solved | str) -> None:
    output.say(report.heading(plan), Tone.STRONG)
    output.say()
    table, more = report.gpu_table(plan, most=_MOST_ROWS)
    output.print_table(table)
    if more:
        output.say(more, Tone.QUIET)
    output.say()
    output.print_fields(report.fields(plan, solver))
    if plan.moves:
        output.say()
        table, more = report.moves_table(plan, most=_MOST_ROWS)
        output.print_table(table)
        if more:
            output.say(more, Tone.QUIET)
    if len(plan.tried) > 1 or plan.by_no_program:
        output.say()
        output.print_table(report.tried_table(plan.tried))
