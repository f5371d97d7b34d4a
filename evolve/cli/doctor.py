"""`evolve doctor`: tests what works on this machine, and whether a task is sound."""

import argparse

from evaluator.check import Finding
from evolve.apps.doctor import machine
from evolve.apps.doctor.cluster import check_cluster
from evolve.apps.doctor.endpoints import check_models
from evolve.apps.doctor.task import examine_task
from evolve.cli import output
from evolve.cli.options import endpoint_keys
from evolve.core.config import Config, yaml_lines
from evolve.core.errors import InputError
from evolve.core.settings import configured
from evolve.review.table import Tone
from evolve.review.texts import counted


def run(arguments: argparse.Namespace) -> int:
    """Run every check: 0 when all that evolve needs works, else 1. Raises InputError."""
    config = _models(arguments)
    output.show_warnings()
    if arguments.workers is not None:
        with output.progress("asking the workers"):
            checks = check_cluster(arguments.workers, arguments.task)
        conclusions = "The cluster evaluates programs.", "The cluster evaluates nothing yet."
    elif arguments.task is None:
        with output.progress("testing this machine"):
            checks = machine.examine()
        conclusions = "Everything that evolve needs works here.", "Something that evolve needs does not work here."
    else:
        with output.progress("scoring the initial program and small changes of it"):
            checks = examine_task(arguments.task)
        conclusions = "The task is sound.", "The task is not sound yet."
    if config is not None:
        with output.progress("asking the models"):
            checks += check_models(config)
    is_healthy = machine.healthy(checks)
    if arguments.json:
        output.print_json({"ok": is_healthy, "checks": [check.to_json() for check in checks]})
        return 0 if is_healthy else 1
    output.print_table(machine.table(checks))
    output.say()
    for check in checks:
        if check.state is not Finding.OK and check.fix:
            output.say(f"{check.name}: {check.fix}", Tone.BAD if check.needed else Tone.QUIET)
    for check in checks:
        for setting in yaml_lines(check.settings):
            output.say(f"{check.name}: put into the configuration: {setting}")
    warnings = [check.name for check in checks if check.state is Finding.BROKEN and not check.needed]
    if is_healthy and warnings:
        usable = "The task is sound" if arguments.task is not None else "Usable"
        output.say(f"{usable}, with {counted(len(warnings), 'warning')}: {', '.join(warnings)}.", Tone.BAD)
    else:
        output.say(conclusions[not is_healthy], Tone.GOOD if is_healthy else Tone.BAD)
    return 0 if is_healthy else 1


def _models(arguments: argparse.Namespace) -> Config | None:
    """The configuration with the models to test; None without --endpoint. Raises InputError."""
    if arguments.endpoint is None:
        if arguments.models or arguments.base_url or arguments.api_key_env:
            option = "--model" if arguments.models else "--base-url" if arguments.base_url else "--api-key-env"
            raise InputError(f"{option}: doctor asks a model only with --endpoint")
        return None
    file = arguments.endpoint or None
    config = configured(file, models=arguments.models or None, endpoint=endpoint_keys(arguments))
    if not config.models:
        where = file or "command line"
        raise InputError(f"--endpoint: no model is named ({where}); give a CONFIG.yaml with models, or --model M")
    if arguments.workers is not None:
        raise InputError("--workers and --endpoint: doctor tests either a cluster or models; give one of the two")
    if arguments.task is not None:
        raise InputError("--task and --endpoint: doctor tests either a task or models; give one of the two")
    return config
