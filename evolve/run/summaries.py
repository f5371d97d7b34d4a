"""The meta documents of a run: how their writer asks, and what the loop waits for."""

from collections.abc import Callable
from functools import partial
from typing import Any

from evolve.archive.archive import Archive
from evolve.completion import Completion, Message
from evolve.config import Config
from evolve.guidance.rounds import Rounds
from evolve.meta.summarizer import Ask
from evolve.opening import SummaryWriter
from evolve.progress import Event, Summarised
from evolve.run.calls import Calls
from evolve.run.mailbox import Mailbox
from evolve.run.steps import Steps, Wait
from evolve.usage import Usage


class Summaries(Rounds):
    """The rounds of one run, with whoever writes its documents."""

    def __init__(
        self, archive: Archive, writer: SummaryWriter, *, config: Config, mailbox: Mailbox, calls: Calls
    ) -> None:
        super().__init__(archive, every=config.meta_every, seed=config.seed, advised=writer.llm is not None)
        self.writer = writer
        self._mailbox = mailbox
        self._calls = calls

    def asker(self) -> Ask:
        """How a round asks: an answer on record is not paid for again, nor is one that the round which closed a session
        got to the same question; any other is recorded before it is used."""
        archive, llm = self._archive, self.writer.llm
        answers = archive.meta.answers.items()
        stored = {key: _stored(archive, event) for key, event in answers}
        alike = {(step_of(key), archive.text(event["prompt"])): key for key, event in answers}

        def ask(key: str, prompt: str) -> Completion:
            known = key if key in stored else alike.get((step_of(key), prompt))
            if known is not None:
                return stored[known]
            if llm is None:
                raise ValueError(f"{key}: there is no model to ask")
            with self._calls.asking(key) as observe:
                answer = llm.complete([Message(role="user", content=prompt)], key=key, observe=observe)
            self._mailbox.post(lambda: archive.meta_answered(key, prompt, answer))
            return answer

        return ask


def summarising(
    summaries: Summaries, *, tell: Callable[[Event], None], hurried: Callable[[], bool], closing: bool = False
) -> Steps:
    """Write the document that is due, or the one that closes a session. A round that the run's end cut short stays open
    for the next session."""
    request = summaries.begin(summaries.asker(), closing=closing)
    result = yield Wait(phase="summarising", job=partial(summaries.writer.summarizer.summarise, request))
    if result.document is None and hurried():
        return
    summaries.finish(result, closing=closing)
    tell(Summarised(programs=summaries.programs, problems=result.problems))


def step_of(key: str) -> str:
    """What of a round a key asks for, whichever round it is: `summary/7`."""
    return key.split("/", 2)[2]


def _stored(archive: Archive, event: Any) -> Completion:
    return Completion(
        text=archive.text(event["answer"]), finish_reason=event["finish_reason"], usage=Usage.from_json(event)
    )
