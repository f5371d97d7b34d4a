"""Who stands in for the models of a run that is done again: nobody is asked, and every answer is the one on record."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import CancelledError, Future

from evolve.archive.archive import Archive
from evolve.archive.events import AskedEvent
from evolve.archive.records import EndedGeneration, ProgramRecord
from evolve.completion import CallFailed, Completion, Message, MetaKey, Observer, RequestKey, UsualOutput
from evolve.config import Config
from evolve.errors import PromptTooLong
from evolve.loop.calls import Calls
from evolve.loop.mailbox import Mailbox
from evolve.loop.summaries import Summaries
from evolve.meta.summarizer import Ask
from evolve.opening import SummaryWriter
from evolve.proposal import Choice, Request
from evolve.rerun.tape import Tape
from evolve.seams import Proposer, Search


class RecordedAnswers:
    """The answers on record to the questions of the meta-summarizer, each given when its time has come. `failures` say
    why there is none for a question; `awaited` are the keys of those that will come in this session."""

    def __init__(self, awaited: Iterable[MetaKey], failures: Mapping[MetaKey, str]) -> None:
        self._awaited = {key: Future[Completion]() for key in awaited}
        self._failures = failures

    def give(self, key: MetaKey, answer: Completion) -> None:
        """The time of an answer has come."""
        if (awaited := self._awaited.get(key)) is not None and not awaited.done():
            awaited.set_result(answer)

    def close(self) -> None:
        """No more will come."""
        for awaited in self._awaited.values():
            awaited.cancel()

    def wait_for(self, key: MetaKey) -> Completion:
        """The answer to a question. Raises CallFailed as the model did then."""
        if key not in self._awaited:
            raise CallFailed("connection", self._failures.get(key, "no answer to it is on record"))
        try:
            return self._awaited[key].result()
        except CancelledError:
            raise CallFailed("cancelled", "the session on record ends here") from None


class RecordedLLM:
    """A model of a run that is done again. Patches are answered by whoever drives it; this is for meta documents."""

    def __init__(self, name: str, tape: Tape, answers: RecordedAnswers) -> None:
        self.name = name
        self._tape = tape
        self._answers = answers

    def estimate_usd(self, tokens_in: int) -> float:
        """What the question on record was estimated at: its prices may have been changed since."""
        event = self._tape.next
        return event.estimate_usd if isinstance(event, AskedEvent) else 0.0

    def complete(self, messages: Sequence[Message], *, key: RequestKey, observe: Observer) -> Completion:
        """See LLM.complete. Nothing is sent, so nobody is told of a call."""
        assert isinstance(key, MetaKey)
        return self._answers.wait_for(key)


class RecordedCalls(Calls):
    """The calls of a run that is done again: what a question was reckoned to take is what stands on record, since it
    depends on when earlier answers came."""

    def __init__(
        self,
        archive: Archive,
        mailbox: Mailbox,
        *,
        tape: Tape,
        config: Config,
        usual: Mapping[str, UsualOutput],
        hurried: Callable[[], bool],
    ) -> None:
        super().__init__(archive, mailbox, config=config, usual=usual, hurried=hurried, tell=lambda event: None)
        self._tape = tape

    def expected_tokens(self, model: str, prompt: str | None) -> int:
        """See Calls.expected_tokens."""
        event = self._tape.next
        return event.estimate_tokens if isinstance(event, AskedEvent) else 0


class RecordedSummaries(Summaries):
    """The meta documents of a session whose templates are not on record: their prompts are those that are, by the key
    of the request. One that was not sent, since the round that closed a session had its answer, is that round's;
    `failed` are the keys of those that had no answer."""

    def __init__(
        self,
        archive: Archive,
        writer: SummaryWriter,
        *,
        prompts: Mapping[MetaKey, str],
        failed: Collection[MetaKey],
        config: Config,
        mailbox: Mailbox,
        calls: Calls,
    ) -> None:
        super().__init__(archive, writer, config=config, mailbox=mailbox, calls=calls)
        self._prompts, self._failed = prompts, failed

    def asker(self) -> Ask:
        """See Summaries.asker."""
        ask, archive = super().asker(), self._archive
        before = {key.question: archive.reader.text(event.prompt) for key, event in archive.reader.meta.answers.items()}

        def ask_as_recorded(key: MetaKey, prompt: str) -> Completion:
            known = self._prompts.get(key)
            if known is None and key not in self._failed:
                known = before.get(key.question)
            return ask(key, prompt if known is None else known)

        return ask_as_recorded


class RecordedProposer:
    """A proposer whose prompts are those on record, for sessions whose configuration is not."""

    def __init__(self, inner: Proposer, tape: Tape) -> None:
        self.name, self.kinds = inner.name, inner.kinds
        self._inner, self._tape = inner, tape

    def prompt(self, request: Request) -> str | None:
        """See Proposer.prompt."""
        event = self._tape.next
        if not isinstance(event, AskedEvent) or event.generation != request.generation:
            return self._inner.prompt(request)
        if event.prompt is None:
            raise PromptTooLong("it was too long then")
        return self._tape.text(event.prompt)

    def estimate_usd(self, prompt: str | None) -> float:
        """See Proposer.estimate_usd."""
        return self._inner.estimate_usd(prompt)

    def answer(self, request: Request, prompt: str | None, observe: Observer) -> Completion:
        """See Proposer.answer."""
        return self._inner.answer(request, prompt, observe)


class RecordedSearch:
    """A search whose choices are those on record, for sessions whose models are not; it is told what ended."""

    def __init__(self, inner: Search, tape: Tape) -> None:
        self._inner, self._tape = inner, tape

    def choose(self, generation: int) -> Choice:
        """See Search.choose."""
        event, archive = self._tape.next, self._tape.archive
        if not isinstance(event, AskedEvent) or event.generation != generation or archive is None:
            return self._inner.choose(generation)
        return Choice(
            kind=event.kind,
            island=event.island,
            parent=archive.reader.find(event.parents[0]),
            inspirations=tuple(archive.reader.find(commit) for commit in event.inspirations),
            model=event.model,
            guided=not event.unguided,
            picked=event.picked,
        )

    def ended(self, ended: EndedGeneration) -> None:
        """See Search.ended."""
        self._inner.ended(ended)

    def confirmed(self, record: ProgramRecord) -> None:
        """See Search.confirmed."""
        self._inner.confirmed(record)
