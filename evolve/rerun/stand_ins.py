"""Who stands in for the models of a run that is done again: nobody is asked, and every answer is the one on record."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import replace

from evolve.archive.events import AskedEvent
from evolve.archive.records import EndedGeneration, ProgramRecord
from evolve.archive.reports import Round
from evolve.completion import CallFailed, Completion, Message, MetaKey, Observer, RequestKey
from evolve.errors import PromptTooLong
from evolve.meta.summarizer import SummaryRequest
from evolve.proposal import Choice, Request
from evolve.rerun.tape import Tape
from evolve.seams import Proposer, Search, Summarizer


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
    """A model of a rerun. Its answers to patches come from the executor; this is for insights reports."""

    def __init__(self, name: str, answers: RecordedAnswers) -> None:
        self.name = name
        self._answers = answers

    def estimate_usd(self, tokens_in: int) -> float:
        """See LLM.estimate_usd. The estimates on record stand: prices may have been changed since."""
        return 0.0

    def complete(self, messages: Sequence[Message], *, key: RequestKey, observe: Observer) -> Completion:
        """See LLM.complete. Nothing is sent, so there is no call to observe."""
        assert isinstance(key, MetaKey)
        return self._answers.wait_for(key)


class RecordedSummarizer:
    """A summarizer whose prompts are those on record, for sessions whose templates are not. `prompts` are all those of
    the record, by the key of the request; `failed` are the keys of the requests that had no answer. A request that was
    not sent, since the round that closed a session had its answer, has the prompt of that round."""

    def __init__(self, inner: Summarizer, prompts: Mapping[MetaKey, str], failed: Collection[MetaKey]) -> None:
        self._inner, self._prompts, self._failed = inner, prompts, failed
        self._alike = {(key.round, key.question): prompt for key, prompt in prompts.items()}

    def summarise(self, request: SummaryRequest) -> Round:
        """See Summarizer.summarise."""
        return self._inner.summarise(self._as_recorded(request))

    def _as_recorded(self, request: SummaryRequest) -> SummaryRequest:
        def ask(key: MetaKey, prompt: str) -> Completion:
            recorded = self._prompts.get(key)
            if recorded is None and key not in self._failed:
                recorded = self._alike.get((key.round, key.question))
            return request.ask(key, prompt if recorded is None else recorded)

        return replace(request, ask=ask, at_next_call=lambda: self._as_recorded(request.renewed()))


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
    """A search whose choices are those on record, for sessions whose models are not."""

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
