"""A session before the person's eyes: Ctrl-C, how it ended, and what to do next."""

import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from evaluator.errors import EvaluatorError
from evaluator.places import DEFAULT_TASK
from evaluator.sandbox.resources import memory_shortage
from evaluator.untrusted import one_line
from evolve.archive.events import FreshState
from evolve.archive.reader import RunReader
from evolve.archive.records import CONFIRMING
from evolve.cli import output
from evolve.cli.interrupting import interruptible
from evolve.cli.live import LiveScreen, PlainScreen, against
from evolve.cli.options import warn_of
from evolve.core.dotted import is_dotted
from evolve.core.errors import MachineError
from evolve.core.invocation import command
from evolve.lang.languages import PYTHON, language_of
from evolve.loop.session import Session
from evolve.proposal import LEAST_ARMS, SearchSettings
from evolve.propose.tuning.baseline import measure_baseline
from evolve.review.calls import spending_text, under_way_text
from evolve.review.curves import shipped_elsewhere
from evolve.review.doubts import against_best, held_out_change, overfitted, quarantined
from evolve.review.run_end import standstill, tuned_alone
from evolve.review.scores import fresh_text, held_out_text, held_out_value, named_value, orders_text, value_text
from evolve.review.table import Tone
from evolve.review.texts import counted
from evolve.search.stopping import StopReason, end_text

_NO_PATCH: Final = {
    "refused: no_patch": "an answer without a patch",
    "refused: empty": "an empty answer",
    "refused: truncated": "an answer that was cut off",
    "refused: length": "an answer that was cut off at its token limit (raise the model's max_tokens)",
}
"""The commonest ends of a model that does not answer as asked, in words."""


def conduct(session: Session, *, tuning_baseline: int | None = None) -> int:
    """Run a session before the person's eyes, and tell how it ended and what to do next. `tuning_baseline`: then tune
    the initial program's numbers with the evaluations of so many proposals. Returns the exit code."""
    archive, evaluators = session.archive.reader, session.evaluators
    where = f"{evaluators.task.name}/{evaluators.evaluator.suite.name}"
    warn_of(evaluators.evaluator.sandbox)
    if session.unnoted is not None:
        output.complain(session.unnoted)
    output.say(f"{'Resuming' if session.resumed else 'Evolving'} {where} in {archive.folder}")
    config = session.config
    output.say(_who(session))
    workers = f"{config.parallel} in flight on {config.workers} workers"
    output.say(f"Seed {config.seed}, {workers}, sandbox level {evaluators.evaluator.sandbox}.")
    if evaluators.task.self_judged:
        output.say("Scores are self-judged: a program shares the process that scores it, as the task has no judge.py.")
    if short := memory_shortage(config.workers, evaluators.evaluator.suite.limits.memory_mb):
        output.say(f"WARNING  {short}.", Tone.BAD)
    sys.stdout.flush()
    interrupt = threading.Event()
    screen: AbstractContextManager[PlainScreen | LiveScreen]
    screen = LiveScreen(f"evolve {where}") if sys.stdout.isatty() else PlainScreen(sys.stdout)
    try:
        with interruptible(interrupt.set):
            with screen as listener:
                reason = session.run(listener, interrupt)
            unmeasured = None if tuning_baseline is None else _measure(session, tuning_baseline, interrupt)
    except MachineError as cause:
        raise MachineError(f"{cause}. Then go on with: {command('resume', archive.folder)}") from cause
    except KeyboardInterrupt:  # the second Ctrl-C: at once, with what is on record
        go_on = command("resume", archive.folder)
        cut_off = under_way_text(archive.under_way, running=False)
        told = f"; {cut_off}" if cut_off else ""
        output.complain(f"ended at once; nothing that is on record is lost{told}. Go on with: {go_on}")
        return 130
    code = _closing(session, reason)
    if unmeasured is None:
        return code
    output.complain(
        f"the tuning baseline is not on record: {unmeasured}. To measure it: "
        + command("resume", archive.folder, "--tuning-baseline", str(tuning_baseline))
    )
    return 130 if interrupt.is_set() else code


def _measure(session: Session, proposals: int, interrupt: threading.Event) -> str | None:
    """Measure the tuning baseline. Why it is not on record then; None where it is."""
    if interrupt.is_set():
        return "it was interrupted"
    known = session.archive.reader.tuning_baseline
    if known is not None and known.proposals == proposals:
        return None
    output.say(f"Tuning the initial program's numbers, with the evaluations of {proposals} proposals.")
    sys.stdout.flush()
    try:
        with output.progress("evaluated", proposals) as shown:
            measured = measure_baseline(
                session.archive,
                session.evaluators,
                proposals,
                workers=session.config.workers,
                tell=lambda done, best: shown.step(),
                stopped=interrupt.is_set,
            )
    except EvaluatorError as cause:
        return one_line(str(cause), 400)
    return None if measured else "it was interrupted"


def _closing(session: Session, reason: StopReason) -> int:
    archive = session.archive.reader
    output.say()
    output.say(f"{end_text(reason).capitalize()}: {_because(session, reason)}")
    if reason is StopReason.CEILING and (others := _other_suites(session)):
        output.say(others)
    output.print_fields(_results(session), indent=2)
    for line in [*quarantined(archive.programs), *against_best(archive)]:
        output.say(f"  WARNING   {line}", Tone.BAD)
    for line in archive.postponed:
        output.say(f"  NOTE      {one_line(line, 400)}")
    output.say()
    output.say("Next:")
    output.print_commands(_next_steps(session, reason))
    if reason is StopReason.INTERRUPTED:
        return 130
    if _proposals(session) and not any(one.correct for one in archive.programs[1:]):
        said = "not one proposal succeeded"
        ended = (one.generation for one in archive.endings() if one.generation > 0)
        if _is_unanswered(session):
            first = min(generation for generation in archive.statuses if generation > 0)
            said += f": no model gave an answer (why: {command('show', archive.folder, str(first))})"
        elif faults := Counter(filter(None, map(archive.fault, ended))):
            (fault, times), *_ = faults.most_common(1)
            plain = _NO_PATCH.get(fault, one_line(fault, 200))
            said += f"; {times} of {_proposals(session)} ended with: {plain}"
        if not archive.programs[0].correct:
            said += ". The initial program fails, too: repair it first"
        output.complain(said)
        return 1
    checked = archive.fresh_of_best in CONFIRMING
    return 0 if checked and not against_best(archive) and reason is not StopReason.UNCONFIRMED else 1


def _who(session: Session) -> str:
    names = ", ".join(one_line(model.shown_name, 60) for model in session.config.models)
    if not names:
        said = "No model configured: the built-in offline proposer writes the patches (no network, no cost)."
        language = language_of(session.archive.reader.program_file)
        return said if language is PYTHON else f"{said} Of {language.name} it knows the numbers, and moves them."
    budget = session.config.budget_usd
    said = f"Patches by {names}" + ("." if budget is None else f", for at most {budget:g} USD.")
    return said + how_chosen(session.models.search_settings(session.config))


def how_chosen(settings: SearchSettings) -> str:
    """What is to be said of `search.models`, in a sentence; "" where models are drawn by weight, as usual."""
    if is_dotted(settings.config.strategy):  # somebody else's may do as it likes
        return ""
    if settings.by_bandit:
        return " Who is asked goes by what each has yielded for its cost (search.models: bandit)."
    if settings.config.models != "bandit":
        return ""
    return f" Who is asked is drawn by weight, since search.models: bandit needs {LEAST_ARMS} models with a weight."


def _because(session: Session, reason: StopReason) -> str:
    config, archive, suite = session.config, session.archive.reader, session.evaluators.evaluator.suite.name
    match reason:
        case StopReason.CEILING:
            return f"suite {suite} cannot be scored higher; every instance is at its proven optimum."
        case StopReason.UNCONFIRMED:
            failed = archive.fresh_of_best is FreshState.FAILED or overfitted(archive)
            holds = "does not hold" if failed else "is not known to hold"
            return f"suite {suite} cannot be scored higher, but its best program {holds} elsewhere."
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
            return f"all {config.budget_calls:,} calls of the budget are made."
        case StopReason.UNREACHABLE:
            return _failures(archive) or "the last error stands above."
        case StopReason.TASK:
            return "its message stands above."
        case StopReason.INTERRUPTED:
            return "all that was answered or scored is recorded."


def _other_suites(session: Session) -> str:
    """What a solved suite says nothing of: the task's other suites, with what shipped programs reach there."""
    task, suite = session.evaluators.task.name, session.evaluators.evaluator.suite.name
    shares = shipped_elsewhere(task, suite)
    if not shares:
        return ""
    reached = ", ".join(f"{share:.2%} on {name}".replace("%", " %") for name, share in shares.items())
    return f"Other suites are not scored; the best shipped programs reach, of the optimum, {reached}."


def _results(session: Session) -> Iterator[tuple[str, str]]:
    archive = session.archive.reader
    best, initial = archive.best, archive.programs[0]
    if best is None:
        yield "best", "none: no program was correct"
    else:
        yield "best", f"{named_value(best.objective, best.value)}{against(best)}, from {value_text(initial.value)}"
        if best.beyond is not None:
            yield "best known", one_line(best.beyond, 300)
        yield "", f"generation {best.generation}: {one_line(best.origin.patch_name, 100)}"
        if (said := orders_text(best, archive.reordered.get(best.generation))) != "":
            yield "", said
        held_out = archive.held_out_scores.get(best.generation)
        if held_out is not None:
            first = archive.held_out_scores.get(0)
            begun = "" if first is None or best.generation == 0 else f", from {held_out_value(first)}"
            suite, change = one_line(held_out.suite, 60), held_out_change(archive)
            yield "held-out", f"{held_out_text(held_out)}{begun} ({suite}, never used for selection)"
            if change is not None:
                yield "", change
        yield "fresh", fresh_text(archive.fresh_check(best.generation))
    if (tuned := tuned_alone(archive)) is not None:
        yield "tuning", tuned["text"]
    if (waiting := archive.ahead) is not None and waiting is not best:
        score = value_text(waiting.value)
        yield "", f"generation {waiting.generation} scores {score}, and is to be confirmed when the run goes on"
    yield "proposals", _accounted(archive)
    if (since := standstill(archive)) is not None and since["text"] is not None:
        yield "", since["text"]
    if failures := _failures(archive):
        yield "failed", failures
    yield "spent", spending_text(archive.spent)
    if archive.meta.reports:
        documents = len(archive.meta.reports)
        last = f"insights report{'s, the last' if documents > 1 else ''} after {max(archive.meta.reports)} programs"
        yield "insights", f"{documents} {last}"
    yield "archive", str(archive.folder)


def _accounted(archive: RunReader) -> str:
    """What came of every proposal: `40: 27 programs, 13 duplicates`."""
    names = {"evaluated": "program", "duplicate": "duplicate", "refused": "refused", "failed": "without an answer"}
    outcomes = Counter(
        names.get(status.value, "unfinished") for generation, status in archive.statuses.items() if generation > 0
    )
    nouns = ("program", "duplicate")
    said = [counted(count, name) if name in nouns else f"{count} {name}" for name, count in outcomes.most_common()]
    return f"{outcomes.total()}: {', '.join(said)}" if said else "none"


def _failures(archive: RunReader) -> str:
    """The model calls that failed, by what the server said: `23 calls: HTTP 500: CUDA out of memory`."""
    said = Counter(
        event.message for events in archive.accounts.calls.values() for event in events if event.is_server_failure
    )
    lines = [f"{counted(times, 'call')}: {one_line(message, 200)}" for message, times in said.most_common(3)]
    more = said.total() - sum(times for _, times in said.most_common(3))
    return "; ".join(lines + ([f"{counted(more, 'call')} for other reasons"] if more else []))


def _proposals(session: Session) -> int:
    return sum(generation > 0 for generation in session.archive.reader.statuses)


def _free_file(archive: RunReader) -> Path:
    """A file that an export can be written to as it stands."""
    suffix = Path(archive.program_file).suffix
    best = Path(f"best{suffix}")
    return best if not best.exists() else Path(f"best-{archive.folder.name}{suffix}")


def _further(session: Session, reason: StopReason) -> list[str]:
    """What `resume` must be told, so that the run goes on and does not stop where it stands."""
    config, proposals = session.config, _proposals(session)
    found: list[str] = []
    if reason is StopReason.PATIENCE:
        found += ["--set", f"patience={2 * (config.patience or 1)}"]
    if reason is StopReason.BUDGET:
        found += ["--budget-usd", f"{2 * (config.budget_usd or 1):g}"]
    if reason is StopReason.BUDGET_TOKENS:
        found += ["--budget-tokens", f"{2 * (config.budget_tokens or 1)}"]
    if reason is StopReason.BUDGET_CALLS:
        found += ["--budget-calls", f"{2 * (config.budget_calls or 1)}"]
    at_limit = config.generations is not None and proposals >= config.generations
    if at_limit and not session.archive.reader.unfinished():  # else there is something to go on with
        found += ["--generations", str(2 * proposals)]
    return found


def _is_unanswered(session: Session) -> bool:
    """Whether models were asked, and none has answered yet."""
    archive = session.archive.reader
    attempts = (attempt for generation in archive.statuses for attempt in archive.attempts(generation))
    return bool(session.config.models and _proposals(session)) and not any(attempt.answer for attempt in attempts)


def _without_patch(session: Session) -> int | None:
    """The last proposal, where a model answered and no answer of the run became a program."""
    archive = session.archive.reader
    if not session.config.models or len(archive.programs) > 1:
        return None
    answered = [number for number in archive.statuses if any(one.answer for one in archive.attempts(number))]
    return max(answered, default=None)


def _next_steps(session: Session, reason: StopReason) -> list[tuple[str, str]]:
    """Commands that can be pasted as they stand, each with its meaning."""
    archive = session.archive.reader
    run = archive.folder
    steps = []
    if reason is StopReason.UNREACHABLE or _is_unanswered(session):
        steps.append((command("doctor", "--endpoint", run / "run.yaml"), "does the model answer?"))
    unpatched = _without_patch(session)
    if unpatched is not None:
        steps.append((command("show", run, str(unpatched), "--answer"), "what the model answered"))
        steps.append(
            (command("doctor", "--endpoint", run / "run.yaml"), "does the model answer in the form of a patch?")
        )
    if archive.best is not None and archive.best.parents and not archive.best_holds:
        without = command("resume", run, "--exclude", str(archive.best.generation), *_further(session, reason))
        steps.append((without, "go on without a best that fails elsewhere"))
    elif archive.fresh_of_best not in CONFIRMING:
        steps.append((command("resume", run, *_further(session, reason)), "go on, and check the best again"))
    elif reason not in (StopReason.CEILING, StopReason.UNCONFIRMED):
        steps.append((command("resume", run, *_further(session, reason)), "go on"))
    if session.config.models and len(archive.programs) == 1 and archive.best is not None:
        return steps  # the best is the initial program, which the person has
    if archive.best is None:
        if not archive.programs[0].correct and session.config.initial is None:
            doctor = command("doctor", "--task", session.config.task)
            steps.insert(0, (doctor, "what is wrong with the initial program"))
        return [*steps, (command("list", run, "--failed"), "what failed, and how")]
    if sum(status in ("refused", "failed") for status in archive.statuses.values()) > _proposals(session) / 2:
        steps.append((command("list", run, "--failed"), "what failed, and how"))
    if archive.meta.reports:
        steps.append((command("insights", run), "the newest insights report"))
    file, task = _free_file(archive), session.config.task
    suites = []
    if reason is StopReason.CEILING and len(session.evaluators.task.suites) > 1:
        own = [] if task == DEFAULT_TASK else ["--task", task]
        suites = [(command("score", file, *own, "--suite", "all"), "then: what it scores on the other suites")]
    return [
        *steps,
        (command("lineage", run, "best"), "how it came to be, step by step"),
        (command("show", run, "best", "--code"), "the best program"),
        (command("replay", run), "score it again and compare"),
        (command("export", run, "best", "-o", file), "take it with you"),
        *suites,
    ]
