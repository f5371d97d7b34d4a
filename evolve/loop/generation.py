"""One generation's way, from the choice of its parent to its record: one function, read from top to bottom.

It is a generator: it yields what it waits for, and the loop, which owns the archive and drives it, sends back the
result. A generation that was cut off is taken up by the same function with what is on record of it.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from evaluator.evaluation import Evaluation, Outcome
from evolve.archive.events import AskedEvent
from evolve.archive.records import EVALUATED_REASONS, Unfinished
from evolve.core.completion import CallFailed, Completion, Followed
from evolve.core.errors import PatchError, PromptTooLong
from evolve.core.program import PatchKind
from evolve.evaluation.evaluators import incumbent
from evolve.evaluation.recording import question_of, record_confirmed, record_program
from evolve.insights.outcomes import followed_in
from evolve.loop.calls import Calls
from evolve.loop.context import RunContext
from evolve.loop.executor import BudgetReached, Job, JobKind, Steps
from evolve.loop.workers import distrust, distrust_late
from evolve.patch import PatchReason
from evolve.progress import Confirmed, Evaluated, Refused, Summarised
from evolve.proposal import Choice, NewProgram, Refusal, Request
from evolve.propose.building import Duplicate, build_program
from evolve.propose.requests import fitting, recorded_choice
from evolve.propose.verdicts import failure_message
from evolve.seams import Proposer
from evolve.search.strategies import recall


def generation(run: RunContext, number: int, begun: Unfinished | None = None) -> Steps:
    """Go one generation's way; `begun` is what an earlier session left of it."""
    archive, attempt, refusals, answer = run.archive, 0, list[Refusal](), None
    if begun is None:
        choice = run.search.choose(number)
    else:
        choice, attempt, answer = recorded_choice(archive.reader, begun), begun.attempt, begun.answer
        refusals = [Refusal(answer=text, message=message, reason=why) for text, message, why in begun.refusals]
    while True:
        if answer is None:
            try:
                choice, prompt_and_ask = _question(run, number, attempt, choice, refusals)
                answer = yield prompt_and_ask
            except (PromptTooLong, CallFailed) as failed:
                return _give_up(run, number, attempt, choice, failed)
            archive.answered(number, attempt, answer)  # before anything is done with it
        followed = followed_in(answer.text, archive.reader.attempts(number))
        # A search for numbers would be made again.
        final = attempt + 1 >= run.config.attempts or choice.kind is PatchKind.TUNE or _is_withdrawn(run, choice)
        try:
            program = build_program(
                answer,
                kind=choice.kind,
                parent=run.requests.files(choice.parent),
                parent_works=choice.parent.correct,
                task=run.evaluators.task,
                known=run.known,
            )
        except PatchError as refused:
            _refuse(run, number, attempt, refused, final=final, followed=followed)
            if final:
                return _ended(run, number)
            refusals.append(Refusal(answer=answer.text, message=str(refused), reason=refused.reason))
            attempt, answer = attempt + 1, None
            continue
        run.building[program.source_hash] = number
        try:
            work = partial(run.evaluators.evaluate, program.files, generation=number)
            judged = yield Job(kind=JobKind.EVALUATE, work=work, generation=number)
            distrust(run, judged.refutes)
            evaluation = judged.evaluation
            if not final and _goes_back(run, evaluation, refusals):
                message = failure_message(evaluation, program.files)
                _refuse(run, number, attempt, PatchError(evaluation.outcome, message), followed=followed)
                refusals.append(Refusal(answer=answer.text, message=message, reason=evaluation.outcome))
                attempt, answer = attempt + 1, None
                continue
        finally:
            del run.building[program.source_hash]
        _record(run, number, attempt, choice, program, evaluation, followed)
        distrust_late(run, evaluation.on)
        return _ended(run, number)


def confirming(run: RunContext) -> Steps:
    """Confirm the program that leads the candidates for the best, and record whether it is that now; if it does not
    hold, it is withdrawn from choice, and its children stay."""
    reader, before = run.archive.reader, run.archive.reader.would_lead
    assert before is not None
    best = incumbent(reader)
    work = partial(run.evaluators.confirm, reader.files(before), reader.evaluation(before), best)
    confirmation = yield Job(kind=JobKind.CONFIRM, work=work, generation=before.generation)
    distrust(run, confirmation.refutes)
    position = reader.position
    held_out = record_confirmed(run.archive, run.evaluators, before, confirmation)
    record, detail = reader.find(before.commit), confirmation.evaluation.detail
    recall(run.search, reader.history(since=position))
    run.summaries.confirmed(before, record)
    run.requests.renew()
    run.tell(Confirmed(record=record, detail=detail, is_best=reader.best is record, held_out=held_out))


def summarising(run: RunContext, *, closing: bool = False) -> Steps:
    """Write the insights report that is due, or the one that closes a session. A round that the run's end cut short
    stays open for the next session."""
    summaries = run.summaries
    request = summaries.begin(summaries.asker(), closing=closing)
    ended = yield Job(kind=JobKind.SUMMARISE, work=partial(summaries.writer.summarizer.summarise, request))
    if ended.report is None and run.draining():
        return
    summaries.finish(ended, closing=closing)
    run.tell(Summarised(programs=summaries.programs, problems=ended.failures))


def _question(
    run: RunContext, number: int, attempt: int, choice: Choice, refusals: list[Refusal]
) -> tuple[Choice, Job]:
    """Render the prompt, write the question down, and say how to ask it. A prompt that would be too long is made of
    less; the choice is then what was asked in the end. Raises PromptTooLong, BudgetReached."""
    choice, question = _resolve_model(run, number, attempt, choice)
    proposer = run.tuner if choice.kind is PatchKind.TUNE else run.models.proposers[choice.model]
    guidance = run.summaries.guidance(number, choice.parent) if choice.guided else None
    full = run.requests.make(number, attempt, choice, refusals, guidance)
    request, prompt = fitting(proposer, full)
    usd, tokens = proposer.estimate_usd(prompt), run.calls.expected_tokens(choice.model, prompt)
    sent = prompt is not None  # else it is no call, and takes nothing of any budget
    if sent and not run.calls.affordable(usd, tokens=tokens):
        raise BudgetReached
    direction = request.direction if sent else None
    question = replace(question, estimate_usd=usd, estimate_tokens=tokens, direction=direction)
    if prompt is not None and (given := request.guidance) is not None:
        numbered = {} if given.number is None else {"recommendation": given.number}
        question = replace(question, guidance={"document": given.document} | numbered)
    if request is not full:
        choice = replace(choice, kind=request.kind, inspirations=choice.inspirations if request.inspirations else ())
        inspirations = question.inspirations if request.inspirations else ()
        question = replace(question, kind=request.kind, inspirations=inspirations, shortened=True)
    run.archive.asked(question, prompt)
    if choice.kind is PatchKind.TUNE:
        work = partial(proposer.answer, request, prompt, lambda _: None)
        return choice, Job(kind=JobKind.TUNE, work=work, generation=number)
    return choice, Job(kind=JobKind.ASK, work=partial(_ask, run.calls, proposer, request, prompt), generation=number)


def _resolve_model(run: RunContext, number: int, attempt: int, choice: Choice) -> tuple[Choice, AskedEvent]:
    """The choice with the model that is asked in the end, and the question, which says why it is that one: the one that
    repairs programs and answers, or another one where its own has been given weight 0 since. To tune is asked of no
    model."""
    if choice.kind is PatchKind.TUNE:
        tuned = replace(choice, model=run.tuner.name, inspirations=(), picked=None)
        return tuned, question_of(number, attempt, tuned)
    if run.config.repair_model is not None and (attempt or choice.kind is PatchKind.FIX):
        repair = replace(choice, model=run.config.repair_model)
        return repair, replace(question_of(number, attempt, repair), repair=True)
    asked = {model.shown_name for model in run.config.models if model.weight}
    if not run.config.models or choice.model in asked:
        return choice, question_of(number, attempt, choice)
    again = run.search.choose(number)
    other = replace(choice, model=again.model, picked=again.picked)
    return other, replace(question_of(number, attempt, other), instead_of=choice.model)


def _ask(calls: Calls, proposer: Proposer, request: Request, prompt: str | None) -> Completion:
    with calls.asking(request.key) as observe:
        return proposer.answer(request, prompt, observe)


def _give_up(run: RunContext, number: int, attempt: int, choice: Choice, why: PromptTooLong | CallFailed) -> None:
    """End a generation for which there is no answer."""
    if isinstance(why, CallFailed):
        run.archive.failed(number, attempt, reason=why.reason, message=str(why))
    else:
        run.archive.asked(replace(question_of(number, attempt, choice), unguided=False, picked=None), None)
        _refuse(run, number, attempt, PatchError(PatchReason.PROMPT_TOO_LONG, str(why)), final=True)
    _ended(run, number)


def _refuse(
    run: RunContext,
    number: int,
    attempt: int,
    refused: PatchError,
    *,
    final: bool = False,
    followed: Followed | None = None,
) -> None:
    """Record why an answer cannot be used; the reason goes back to the model unless it was the last attempt."""
    duplicate_of = refused.generation if isinstance(refused, Duplicate) else None
    run.archive.refused(
        number,
        attempt,
        reason=refused.reason,
        message=str(refused),
        final=final,
        duplicate_of=duplicate_of,
        followed=followed,
    )
    run.tell(Refused(generation=number, reason=refused.reason, message=str(refused), final=final))


def _is_withdrawn(run: RunContext, choice: Choice) -> bool:
    """Whether a program that was chosen has not held since: no prompt shows it, and no change of it is repaired."""
    chosen = [choice.parent, *choice.inspirations]
    return any(one.correct and not run.archive.reader.find(one.commit).correct for one in chosen)


def _goes_back(run: RunContext, evaluation: Evaluation, refusals: Sequence[Refusal]) -> bool:
    """Whether a failed evaluation goes back to its model in the same generation: once, and of nothing that
    says as much of the machine, or that nobody is to learn from."""
    repairable = not evaluation.correct and evaluation.quarantine is None and evaluation.outcome is not Outcome.TIMEOUT
    return repairable and bool(run.config.models) and not any(one.reason in EVALUATED_REASONS for one in refusals)


def _record(
    run: RunContext,
    number: int,
    attempt: int,
    choice: Choice,
    program: NewProgram,
    evaluation: Evaluation,
    followed: Followed | None,
) -> None:
    """Record a program with its verdict, and tell of it. One that stands above the best is there at once, and is to be
    confirmed."""
    question = question_of(number, attempt, choice)
    record = record_program(run.archive, question, program, evaluation, provisional=True, followed=followed)
    run.tell(
        Evaluated(
            record=record,
            detail=evaluation.detail,
            parent_score=choice.parent.combined_score,
            provisional=record in run.archive.reader.candidates,
        )
    )


def _ended(run: RunContext, number: int) -> None:
    """Tell those who go by it that a generation has ended."""
    recall(run.search, run.archive.reader.latest_turns)
    run.summaries.ended(number)
