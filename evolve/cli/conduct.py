"""Runs a session at the terminal: Ctrl-C, how it ended, and what to do next."""

import re
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from evaluator.errors import EvaluatorError
from evaluator.objective import Direction
from evaluator.places import DEFAULT_TASK
from evaluator.sandbox.resources import memory_shortage
from evaluator.untrusted import one_line
from evolve.archive.events import FreshState, Status
from evolve.archive.reader import RunReader
from evolve.archive.records import CONFIRMING
from evolve.cli import output
from evolve.cli.interrupting import interruptible
from evolve.cli.live import LiveScreen, PlainScreen, score_suffix
from evolve.cli.options import warn_of
from evolve.core.completion import PatchKey
from evolve.core.dotted import is_dotted
from evolve.core.errors import MachineError
from evolve.core.invocation import command
from evolve.lang.languages import PYTHON, language_of
from evolve.loop.session import Session
from evolve.proposal import LEAST_ARMS
from evolve.propose.tuning.baseline import measure_baseline
from evolve.review.calls import spending_text, under_way_text
from evolve.review.curves import shipped_elsewhere
from evolve.review.doubts import against_best, held_out_change, overfitted, quarantined
from evolve.review.run_end import standstill, tuned_alone
from evolve.review.run_facts import outcomes_text, proposals
from evolve.review.scores import (
    bound_word,
    fresh_text,
    held_out_text,
    held_out_value,
    named_value,
    orders_text,
    remeasured_text,
    value_text,
)
from evolve.review.table import Tone
from evolve.review.texts import counted
from evolve.search.stopping import StopReason, end_text

_FIRST_SENTENCE: Final = re.compile(r".*?[.?](?= |$)")
_NO_PATCH: Final = {
    "refused: no_patch": "an answer without a patch",
    "refused: empty": "an empty answer",
    "refused: truncated": "an answer that was cut off",
    "refused: length": "an answer that was cut off at its token limit (raise the model's max_tokens)",
}
"""The most frequent faults of a model whose answers have the wrong form, in words."""


def conduct(session: Session, *, tuning_baseline: int | None = None) -> int:
    """Run a session, and print its progress, its end and the next commands. `tuning_baseline`: then tune the initial
    program's numbers with the evaluations of that many proposals. Returns the exit code."""
    archive, evaluators = session.archive.reader, session.evaluators
    where = f"{evaluators.task.name}/{evaluators.evaluator.suite.name}"
    warn_of(evaluators.evaluator.sandbox)
    if session.unnoted is not None:
        output.complain(session.unnoted)
    output.say(f"{'Resuming' if session.resumed else 'Evolving'} {where} in {archive.folder}")
    if not session.resumed:
        for line in _describe_task(session):
            output.say(line)
    config = session.config
    output.say(_describe_models(session))
    place = f"the cluster {config.workers}" if config.cluster else counted(config.processes, "worker")
    in_flight = f"{counted(config.parallel, 'proposal')} at a time on {place}"
    output.say(f"Seed {config.seed}, {in_flight}, sandbox level {evaluators.level}.")
    if config.cluster and evaluators.task.uses_clock:
        output.say("The score is a speed: programs are measured on this machine, and none on the cluster.")
    if evaluators.task.self_judged:
        output.say("Scores are self-judged: a program shares the process that scores it, as the task has no judge.py.")
    if short := memory_shortage(config.processes, evaluators.evaluator.suite.limits.memory_mb):
        output.say(f"WARNING  {short}.", Tone.BAD)
    sys.stdout.flush()
    interrupt, before = threading.Event(), _calls_and_answers(archive)
    screen: AbstractContextManager[PlainScreen | LiveScreen]
    screen = LiveScreen(f"evolve {where}") if sys.stdout.isatty() else PlainScreen(sys.stdout)
    try:
        with interruptible(interrupt.set):
            with screen as listener:
                reason = session.run(listener, interrupt)
            unmeasured = None if tuning_baseline is None else _measure_baseline(session, tuning_baseline, interrupt)
    except MachineError as cause:
        raise MachineError(f"{cause}. Then go on with: {command('resume', archive.folder)}") from cause
    except KeyboardInterrupt:  # the second Ctrl-C
        cut_off = under_way_text(archive.under_way, running=False)
        kept = "stopped; everything on record is kept" + (f"; {cut_off}" if cut_off else "")
        output.complain(f"{kept}. Go on with: {command('resume', archive.folder)}")
        return 130
    calls, answers = _calls_and_answers(archive)
    code = _print_end(session, reason, unanswered=calls > before[0] and answers == before[1])
    if unmeasured is None:
        return code
    output.complain(
        f"the tuning baseline is not on record: {unmeasured}. To measure it: "
        + command("resume", archive.folder, "--tuning-baseline", str(tuning_baseline))
    )
    return 130 if interrupt.is_set() else code


def _measure_baseline(session: Session, proposals: int, interrupt: threading.Event) -> str | None:
    """Measure the tuning baseline. Returns why it is not on record afterwards; None where it is."""
    if interrupt.is_set():
        return "it was interrupted"
    recorded = session.archive.reader.tuning_baseline
    if recorded is not None and recorded.proposals == proposals:
        return None
    output.say(f"Tuning the initial program's numbers, with the evaluations of {proposals} proposals.")
    sys.stdout.flush()
    try:
        with output.progress("evaluated", proposals) as shown:
            measured = measure_baseline(
                session.archive,
                session.evaluators,
                proposals,
                workers=session.config.processes,
                tell=lambda done, best: shown.step(),
                stopped=interrupt.is_set,
            )
    except EvaluatorError as cause:
        return one_line(str(cause), 400)
    return None if measured else "it was interrupted"


def _calls_and_answers(archive: RunReader) -> tuple[int, int]:
    """How many calls were made for proposals, and how many proposals have an answer of a model, attempts counted."""
    calls = sum(len(events) for key, events in archive.accounts.calls.items() if isinstance(key, PatchKey))
    return calls, sum(attempt.answer is not None for number in archive.statuses for attempt in archive.attempts(number))


def _print_end(session: Session, reason: StopReason, *, unanswered: bool) -> int:
    """Print how a session ended, and what to do next. `unanswered`: models were asked in it, and none has answered.
    Returns the exit code."""
    archive = session.archive.reader
    output.say()
    output.say(f"{end_text(reason).capitalize()}: {_because(session, reason)}")
    if reason is StopReason.CEILING and (other_suites := _other_suites(session)):
        output.say(other_suites)
    output.print_fields(_results(session), indent=2)
    for line in [*quarantined(archive.programs), *against_best(archive)]:
        output.say(f"  WARNING   {line}", Tone.BAD)
    for line in archive.deferred_writes:
        output.say(f"  NOTE      {one_line(line, 400)}")
    output.say()
    output.say("Next:")
    output.print_commands(_next_steps(session, reason, unanswered=unanswered))
    if reason is StopReason.INTERRUPTED:
        return 130
    none_succeeded = _proposals(session) and not any(program.correct for program in archive.programs[1:])
    if none_succeeded or unanswered:
        output.complain(_why_none_succeeded(session) if not unanswered else _why_unanswered(archive))
        return 1
    checked = archive.fresh_of_best in CONFIRMING
    return 0 if checked and not against_best(archive) and reason is not StopReason.UNCONFIRMED else 1


def _why_unanswered(archive: RunReader) -> str:
    """The sentence for a session in which no model answered."""
    last = max(number for number, status in archive.statuses.items() if status in (Status.ASKED, Status.FAILED))
    return f"no model gave an answer in this session (why: {command('show', archive.folder, str(last))})"


def _why_none_succeeded(session: Session) -> str:
    """The sentence for a run whose proposals gave no correct program."""
    archive = session.archive.reader
    sentence = "not one proposal succeeded"
    ended = (ending.generation for ending in archive.endings() if ending.generation > 0)
    if faults := Counter(filter(None, map(archive.fault, ended))):
        (fault, times), *_ = faults.most_common(1)
        sentence += f"; {times} of {_proposals(session)} ended with: {_NO_PATCH.get(fault, one_line(fault, 200))}"
    if not archive.programs[0].correct:
        sentence += ". The initial program fails, too: repair it first"
    return sentence


def _describe_task(session: Session) -> Iterator[str]:
    """The first sentence of the task's description; and how good a program can be, if that is known."""
    if asked := _FIRST_SENTENCE.match(" ".join(session.evaluators.task.description.split())):
        yield f"Task: {one_line(asked[0], 300)}"
    initial = session.archive.reader.programs[0]
    objective, known = initial.objective, initial.best_known
    limits = []
    if initial.value_bound is not None:
        limits.append(f"proven {bound_word(objective)} {value_text(initial.value_bound)}")
    if known is not None:
        limits.append(f"best known {value_text(known.value)} ({one_line(known.where_from, 200)})")
    if limits:
        smaller = objective.direction is Direction.MINIMISE
        yield f"{objective.metric}: {'smaller' if smaller else 'larger'} is better; {', '.join(limits)}."


def _describe_models(session: Session) -> str:
    """Which models write the patches, and how they are chosen."""
    names = ", ".join(one_line(model.shown_name, 60) for model in session.config.models)
    if not names:
        sentence = "No model configured: the built-in offline proposer writes the patches (no network, no cost)."
        if session.evaluators.task.program_folder is not None:
            return f"{sentence} In a program of several files it changes numbers only."
        language = language_of(session.archive.reader.program_file)
        return sentence if language is PYTHON else f"{sentence} In {language.name} it changes numbers only."
    budget = session.config.budget_usd
    sentence = f"Patches by {names}" + ("." if budget is None else f", for at most {budget:g} USD.")
    settings = session.models.search_settings(session.config)
    if settings.config.models != "bandit" or is_dotted(settings.config.strategy):  # your own strategy may choose anyhow
        return sentence
    if settings.by_bandit:
        return f"{sentence} Models are chosen by improvement per cost (search.models: bandit)."
    return f"{sentence} Models are drawn by weight: search.models: bandit needs {LEAST_ARMS} models with a weight."


def _because(session: Session, reason: StopReason) -> str:
    config, archive, suite = session.config, session.archive.reader, session.evaluators.evaluator.suite.name
    match reason:
        case StopReason.CEILING:
            return f"suite {suite} cannot be scored higher; every instance is at its proven optimum."
        case StopReason.UNCONFIRMED:
            failed = archive.fresh_of_best is FreshState.FAILED or overfitted(archive)
            holds = "does not hold" if failed else "is not known to hold"
            return f"suite {suite} cannot be scored higher, but its best program {holds} on other instances."
        case StopReason.GENERATIONS:
            before = "" if config.minutes is None else f", before that of {config.minutes:g} minutes"
            return f"the limit of {config.generations} generations is reached{before}."
        case StopReason.MINUTES:
            return f"{config.minutes:g} minutes have passed."
        case StopReason.PATIENCE:
            return f"the last {config.patience} proposals brought no better program."
        case StopReason.BUDGET:
            return f"another answer could exceed the budget of {config.budget_usd:g} USD."
        case StopReason.BUDGET_TOKENS:
            return f"another answer could exceed the budget of {config.budget_tokens:,} tokens."
        case StopReason.BUDGET_CALLS:
            return f"all {config.budget_calls:,} calls of the budget were made."
        case StopReason.UNREACHABLE:
            (message, _), *_ = _failed_calls(archive).most_common(1) or [("see the last error above.", 0)]
            return one_line(message, 200)
        case StopReason.TASK | StopReason.MACHINE:
            return "see its message above."
        case StopReason.INTERRUPTED:
            return "every answer and every score is recorded."


def _other_suites(session: Session) -> str:
    """The task's other suites, which a solved suite says nothing about, with the shares that shipped programs reach."""
    task, suite = session.evaluators.task.name, session.evaluators.evaluator.suite.name
    shares = shipped_elsewhere(task, suite)
    if not shares:
        return ""
    reached = ", ".join(f"{share:.2%} on {name}".replace("%", " %") for name, share in shares.items())
    return f"Other suites were not scored. On them the best shipped programs reach {reached} (share of the optimum)."


def _results(session: Session) -> Iterator[tuple[str, str]]:
    archive = session.archive.reader
    best, initial = archive.best, archive.programs[0]
    if best is None:
        yield "best", "none: no program was correct"
    else:
        yield "best", f"{named_value(best.objective, best.value)}{score_suffix(best)}, from {value_text(initial.value)}"
        if best.beyond is not None:
            yield "best known", one_line(best.beyond, 300)
        yield "", f"generation {best.generation}: {one_line(best.origin.patch_name, 100)}"
        if (remeasured := archive.remeasured.get(best.generation)) is not None:
            yield "measured", remeasured_text(remeasured)
            yield "", "quote this figure: the search chose the best by the one above, which is likely to be too high"
        if (orders := orders_text(best, archive.reordered.get(best.generation))) != "":
            yield "", orders
        held_out = archive.held_out_scores.get(best.generation)
        if held_out is not None:
            first = archive.held_out_scores.get(0)
            start = "" if first is None or best.generation == 0 else f", from {held_out_value(first)}"
            suite, change = one_line(held_out.suite, 60), held_out_change(archive)
            yield "held-out", f"{held_out_text(held_out)}{start} ({suite}, never used for selection)"
            if change is not None:
                yield "", change
        yield "fresh", fresh_text(archive.fresh_check(best.generation))
    if (tuned := tuned_alone(archive)) is not None:
        yield "tuning", tuned["text"]
    if (waiting := archive.ahead) is not None and waiting is not best:
        score = value_text(waiting.value)
        yield "", f"generation {waiting.generation} scores {score}; `resume` will confirm it"
    yield "proposals", ": ".join(filter(None, [str(_proposals(session)), outcomes_text(archive)]))
    if (since := standstill(archive)) is not None and since["text"] is not None:
        yield "", since["text"]
    if failures := _failures(archive):
        yield "failed", failures
    yield "spent", spending_text(archive.spent)
    if archive.meta.reports:
        reports = len(archive.meta.reports)
        last = f"insights report{'s, the last' if reports > 1 else ''} after {max(archive.meta.reports)} programs"
        yield "insights", f"{reports} {last}"
    yield "archive", str(archive.folder)


def _failed_calls(archive: RunReader) -> Counter[str]:
    """How many model calls failed with each of the server's messages."""
    calls = archive.accounts.calls.values()
    return Counter(event.message for events in calls for event in events if event.is_server_failure)


def _failures(archive: RunReader) -> str:
    """The failed model calls, by the server's message: `23 calls: HTTP 500: CUDA out of memory`."""
    messages = _failed_calls(archive)
    lines = [f"{counted(times, 'call')}: {one_line(message, 200)}" for message, times in messages.most_common(3)]
    more = messages.total() - sum(times for _, times in messages.most_common(3))
    return "; ".join(lines + ([f"{counted(more, 'call')} for other reasons"] if more else []))


def _proposals(session: Session) -> int:
    return len(proposals(session.archive.reader))


def _free_file(archive: RunReader) -> Path:
    """A file name for an export that does not exist yet."""
    suffix = Path(archive.program_file).suffix
    best = Path(f"best{suffix}")
    return best if not best.exists() else Path(f"best-{archive.folder.name}{suffix}")


def _raised_limits(session: Session, reason: StopReason) -> list[str]:
    """The options of `resume` that raise the limit at which the run stopped."""
    config, proposals = session.config, _proposals(session)
    options: list[str] = []
    if reason is StopReason.PATIENCE:
        options += ["--set", f"patience={2 * (config.patience or 1)}"]
    if reason is StopReason.BUDGET:
        options += ["--budget-usd", f"{2 * (config.budget_usd or 1):g}"]
    if reason is StopReason.BUDGET_TOKENS:
        options += ["--budget-tokens", f"{2 * (config.budget_tokens or 1)}"]
    if reason is StopReason.BUDGET_CALLS:
        options += ["--budget-calls", f"{2 * (config.budget_calls or 1)}"]
    at_limit = config.generations is not None and proposals >= config.generations
    if at_limit and not session.archive.reader.unfinished():  # an unfinished generation needs no higher limit
        options += ["--generations", str(2 * proposals)]
    return options


def _answered(archive: RunReader) -> list[int]:
    """The generations with an answer on record."""
    return [number for number in archive.statuses if any(attempt.answer for attempt in archive.attempts(number))]


def _next_steps(session: Session, reason: StopReason, *, unanswered: bool) -> list[tuple[str, str]]:
    """Commands that can be pasted, each with its meaning."""
    archive = session.archive.reader
    run, best = archive.folder, archive.best
    steps = [
        *_steps_for_models(session, asks_doctor=unanswered or reason is StopReason.UNREACHABLE),
        *_step_onward(session, reason),
    ]
    if session.config.models and len(archive.programs) == 1 and best is not None:
        return steps  # the best is the initial program, which the person has
    if best is None:
        if not archive.programs[0].correct and session.config.initial is None:
            doctor = command("doctor", "--task", session.config.task)
            steps.insert(0, (doctor, "what is wrong with the initial program"))
        return [*steps, (command("list", run, "--failed"), "which proposals failed, and why")]
    if sum(status in ("refused", "failed") for status in archive.statuses.values()) > _proposals(session) / 2:
        steps.append((command("list", run, "--failed"), "which proposals failed, and why"))
    if archive.meta.reports:
        steps.append((command("insights", run), "the newest insights report"))
    file, task = _free_file(archive), session.config.task
    suites = []
    if reason is StopReason.CEILING and len(session.evaluators.task.suites) > 1:
        own = [] if task == DEFAULT_TASK else ["--task", task]
        suites = [(command("score", file, *own, "--suite", "all"), "then: its score on the other suites")]
    return [
        *steps,
        (command("lineage", run, "best"), "the lineage of the best program, step by step"),
        (command("show", run, "best", "--code"), "the best program"),
        (command("replay", run), "score it again and compare"),
        _saving(session, run, file),
        *suites,
    ]


def _saving(session: Session, run: Path, file: Path) -> tuple[str, str]:
    """How to save the best program."""
    if session.evaluators.task.repository is not None:
        return command("export", run, "best", "--patch"), "its changes, as `git apply` takes them"
    return command("export", run, "best", "-o", file), "save it to a file"


def _steps_for_models(session: Session, *, asks_doctor: bool) -> Iterator[tuple[str, str]]:
    """What to try where no model answered, or no answer became a program."""
    archive = session.archive.reader
    doctor = command("doctor", "--endpoint", archive.folder / "run.yaml")
    if asks_doctor and not _scripts(session):
        yield doctor, "does the model answer?"
    if session.config.models and len(archive.programs) <= 1 and (answered := _answered(archive)):
        yield command("show", archive.folder, str(max(answered)), "--answer"), "the model's last answer"
        yield doctor, "does the model answer in the form of a patch?"


def _step_onward(session: Session, reason: StopReason) -> Iterator[tuple[str, str]]:
    """The command that continues the run, unless its suite is solved."""
    archive, options = session.archive.reader, _raised_limits(session, reason)
    best, run = archive.best, archive.folder
    needs = f", once {' or '.join(scripts)} has more answers" if (scripts := _scripts(session)) else ""
    if best is not None and best.parents and not archive.best_holds:
        exclude = command("resume", run, "--exclude", str(best.generation), *options)
        yield exclude, f"go on without a best that fails on other instances{needs}"
    elif archive.fresh_of_best not in CONFIRMING:
        yield command("resume", run, *options), f"go on, and check the best again{needs}"
    elif reason not in (StopReason.CEILING, StopReason.UNCONFIRMED):
        yield command("resume", run, *options), f"go on{needs}"


def _scripts(session: Session) -> list[str]:
    """The files of answers that take the place of models; none if at least one model is asked."""
    scripts = [model.script for model in session.config.models]
    return [] if None in scripts else [script.name for script in scripts if script is not None]
