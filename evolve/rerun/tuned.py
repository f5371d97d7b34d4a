"""Generations that a person asked for with `evolve tune`, between two sessions of a run that is done again."""

from dataclasses import replace
from functools import partial

from evolve.archive.events import AnsweredEvent, AskedEvent, EvaluatedEvent, Event
from evolve.completion import Completion
from evolve.errors import PatchError
from evolve.judging.recording import question_of
from evolve.rerun.divergence import Diverged
from evolve.rerun.recorded import Tools
from evolve.tuning.recording import choice_to_tune, judged, record_tuning


class TunedByHand:
    """The steps of `evolve.tuning.recording`, each when the record says so. Which program was tuned and what was found
    is taken from the record; what comes of that is made, judged and compared."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._answer: Completion | None = None

    def meet(self, event: Event) -> None:
        """Do what leads to an event. Raises Diverged, and SessionOver where the record ends before."""
        match event:
            case AskedEvent():
                self._asked(event)
            case AnsweredEvent():
                self._answered(event)
            case EvaluatedEvent():
                self._evaluated(event)

    def _asked(self, event: AskedEvent) -> None:
        """The numbers of a program are asked for. Raises Diverged."""
        archive, tape = self._tools.archive, self._tools.tape
        tape.as_recorded = False  # nothing of this question depends on a configuration
        choice = choice_to_tune(archive.reader.find(event.parents[0]))
        archive.asked(question_of(archive.reader.next_generation, 0, choice), None)
        tape.passed["as_recorded"] += 1
        tape.passed["tuned"] += 1

    def _answered(self, event: AnsweredEvent) -> None:
        """What the search found is taken from the record. Raises Diverged."""
        self._answer = self._tools.record.completion(event)
        self._tools.archive.answered(event.generation, event.attempt, self._answer)

    def _evaluated(self, event: EvaluatedEvent) -> None:
        """The program is made of it and judged. Raises Diverged, and SessionOver where the record ends before all of it
        is there."""
        tools, number, answer = self._tools, event.generation, self._answer
        if answer is None:
            return  # nothing here leads to it
        archive, evaluators = tools.archive, tools.evaluators
        if not tools.tape.judge_is_here:
            evaluators = replace(evaluators, held_out=None)
        choice = choice_to_tune(archive.reader.find(archive.reader.generation(number).parents[0]))
        tools.judge.expect(number)
        judge = partial(judged, archive, evaluators, number, choice, answer)
        try:
            program, confirmation = tools.threads.result(tools.threads.submit(judge))
        except PatchError as refused:
            made = {"event": "refused", "generation": number, "attempt": 0, "reason": refused.reason}
            raise Diverged(tools.tape.unexpected(made)) from None
        self._answer = None
        question = question_of(number, event.attempt, choice)
        record_tuning(archive, evaluators, question, program, confirmation)
