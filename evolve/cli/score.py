"""`evolve score`: the verdict on any program, evolve block or not."""

import argparse
import secrets
from collections.abc import Mapping

from evaluator.certificate import judge_again
from evaluator.evaluation import Evaluation, Outcome
from evaluator.fresh import draw_suite
from evaluator.opening import OpenedEvaluator, open_evaluator
from evaluator.places import DEFAULT_TASK
from evaluator.program_files import Files
from evaluator.suite_scorer import score_results, solve_suite
from evaluator.task import Suite, Task
from evaluator.task_files import load_task
from evaluator.waiting import threads
from evolve.cli import output
from evolve.cli.options import confined, warn_of
from evolve.core.config import available_cores
from evolve.core.errors import InputError
from evolve.core.files import explain_undecodable, read_program
from evolve.review import certificates, verdict
from evolve.review.scores import sentence
from evolve.review.table import Tone
from evolve.review.verdict import score_row, scores_table, why_not

PEER_SECONDS = (1, 10)


def run(arguments: argparse.Namespace) -> int:
    """Score every file and print the verdicts in the given order. 0 when each has a verdict, whatever it is; 1 when
    with `--strict` a re-evaluation differs, or with `--answers` the record does.

    Raises InputError before any scoring when a file cannot be read, TaskError for the task or suite, and SandboxError
    or HarnessError for the machine.
    """
    if arguments.answers is not None:
        return _judge_answers(arguments)
    if not arguments.files:
        raise InputError("name the FILE of a program, or --answers FILE")
    task = load_task(arguments.task or DEFAULT_TASK)
    programs, names = [read_program(path, task) for path in arguments.files], list(map(str, arguments.files))
    suites = list(task.suites) if arguments.suite == "all" else [arguments.suite or task.default_suite]
    workers = min(available_cores(), len(programs))
    if arguments.fresh is not None or arguments.seed is not None:
        return _compare_on_fresh(arguments, task, suites, dict(zip(names, programs, strict=True)))
    rows, agree, unloaded = [], True, False
    with output.progress("scored", len(suites) * len(programs)) as shown:
        for number, suite in enumerate(suites):
            with open_evaluator(task, task.suite(suite), workers=workers, confined=confined(arguments)) as evaluator:
                if number == 0:
                    warn_of(evaluator.sandbox)
                shown.working_on(f"{task.name}/{suite}")
                evaluations = _score(evaluator, programs, workers, strict=arguments.strict, shown=shown)
                peers = _peers(task, evaluator.suite) if arguments.baseline else {}
            agree &= all(each.strict is None or each.strict.agrees for each in evaluations)
            unloaded |= any(each.outcome is Outcome.LOAD_ERROR for each in evaluations)
            scored = dict(zip(names, evaluations, strict=True)) | peers
            if arguments.json:
                rows += [score_row(name, each, strict=arguments.strict) for name, each in scored.items()]
            else:
                shown.clear()
                if number:
                    output.say()
                _print_scores(scored, strict=arguments.strict)
    if arguments.json:
        output.print_json(rows)
    elif unloaded and arguments.task is None:
        output.say()
        output.say(f"Scored as a program for the task {DEFAULT_TASK}. If it is for another one: --task FOLDER")
    return 0 if agree else 1


def _compare_on_fresh(arguments: argparse.Namespace, task: Task, suites: list[str], given: dict[str, Files]) -> int:
    """Compare programs on fresh instances of each suite. Raises InputError for options that do not go together."""
    if arguments.fresh is None:
        raise InputError("--seed is the seed of fresh instances: give --fresh N, too")
    if arguments.strict or arguments.baseline:
        raise InputError("--fresh compares programs on new instances: it goes with neither --strict nor --baseline")
    if task.uses_clock:
        raise InputError(
            f"--fresh compares costs, but the score of task {task.name!r} is a speed; score the programs on a suite"
        )
    peers = verdict.peers_of(task)
    programs = given | {name: read_program(path, task) for name, path in peers.items()}
    seed, rows = arguments.seed or secrets.token_hex(8), []
    workers = min(available_cores(), len(programs))
    with output.progress("scored", len(suites) * len(programs)) as shown:
        for number, name in enumerate(suites):
            suite = draw_suite(task, task.suite(name), arguments.fresh, seed)
            with open_evaluator(task, suite, workers=workers, confined=confined(arguments)) as evaluator:
                if number == 0:
                    warn_of(evaluator.sandbox)
                shown.working_on(f"{task.name}/{name}")
                evaluations = _score(evaluator, list(programs.values()), workers, strict=False, shown=shown)
            rows += verdict.fresh_rows(dict(zip(programs, evaluations, strict=True)), next(iter(peers)), suite, seed)
            if not arguments.json:
                shown.clear()
                output.say(f"{task.name}/{name}: {arguments.fresh} fresh instances, seed {seed}", Tone.QUIET)
                output.say(
                    f"Better, equal and worse: compared with the initial program. {verdict.NO_BOUND}", Tone.QUIET
                )
                output.say()
                output.print_table(verdict.fresh_table(rows[-len(programs) :], evaluations[0].objective))
    if arguments.json:
        output.print_json(rows)
    return 0


def _judge_answers(arguments: argparse.Namespace) -> int:
    """Judge a file of answers: 0 when the verdict equals the recorded one, else 1. Raises InputError, TaskError."""
    excluded = (arguments.files, arguments.suite, arguments.baseline, arguments.strict, arguments.fresh, arguments.seed)
    if any(excluded):
        raise InputError("--answers judges one file of answers, on the suite that it names: only --task goes with it")
    certificate = certificates.read_certificate(arguments.answers)
    task = load_task(certificates.task_named(certificate, arguments.task))
    certificates.require_same_judge(certificate, task)
    suite = task.suite(certificate.suite)
    evaluation = judge_again(task, suite, certificate.answers)
    differences, name = certificates.differences(certificate, evaluation, suite), str(arguments.answers)
    if arguments.json:
        output.print_json([certificates.to_json(certificate, score_row(name, evaluation), differences)])
        return 1 if differences else 0
    output.say(f"{name}: {task.name}/{suite.name}, {sentence(evaluation)}", Tone.STRONG)
    output.print_fields(("", text) for text in why_not(evaluation))
    for line in differences:
        output.say(line, Tone.BAD)
    verdict = "differs from the record" if differences else "equals the record exactly"
    output.say(f"The verdict {verdict}. No program was run.", Tone.BAD if differences else Tone.GOOD)
    return 1 if differences else 0


def _peers(task: Task, suite: Suite) -> dict[str, Evaluation]:
    """The results of the exact solver, under names that no file has."""
    evaluations = {}
    for seconds in PEER_SECONDS:
        with output.progress(f"exact solver, {seconds} s: instance", len(suite.instances)) as shown:
            results = []
            for result in solve_suite(task, suite, seconds=seconds):
                results.append(result)
                shown.step()
        evaluations[f"exact solver, {seconds} s per instance"] = score_results(task, suite, results)
    return evaluations


def _score(
    evaluator: OpenedEvaluator, programs: list[Files], workers: int, *, strict: bool, shown: output.ProgressLine
) -> list[Evaluation]:
    def verdict(program: Files) -> Evaluation:
        evaluation = explain_undecodable(program, evaluator.evaluate(program))
        return evaluator.examine(program, evaluation) if strict else evaluation

    with threads(workers, cancel=evaluator.cancel) as pool:
        futures = [pool.submit(verdict, program) for program in programs]
        for future in pool.settled(futures):
            future.result()
            shown.step()
    return [future.result() for future in futures]


def _print_scores(scored: Mapping[str, Evaluation], *, strict: bool) -> None:
    first = next(iter(scored.values()))
    output.say(f"{first.task}/{first.suite}, sandbox level {first.sandbox}", Tone.QUIET)
    output.say()
    output.print_table(scores_table(list(scored), list(scored.values()), strict=strict))
    for name, evaluation in scored.items():
        if not evaluation.correct:
            output.say()
            output.say(name, Tone.STRONG)
            output.print_fields(("", text) for text in why_not(evaluation))
