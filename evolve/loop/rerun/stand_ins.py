"""Who stands in for the models of a run that is done again: nobody is asked, and every answer is the one on record."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from evolve.archive.events import AskedEvent
from evolve.archive.reports import Round
from evolve.core.completion import Completion, Message, MetaKey, Observer, RequestKey
from evolve.core.errors import PromptTooLong
from evolve.insights.summarizer import SummaryRequest
from evolve.loop.rerun.tape import Tape
from evolve.proposal import Request
from evolve.seams import Proposer, Summarizer


class RecordedLLM:
    """A model of a rerun. Its answers to patches come from the executor; `answer` has those for insights reports."""

    def __init__(self, name: str, answer: Callable[[MetaKey], Completion]) -> None:
        self.name, self._answer = name, answer

    def estimate_usd(self, tokens_in: int) -> float:
        """See LLM.estimate_usd. The estimates on record stand: prices may have been changed since."""
        return 0.0

    def complete(self, messages: Sequence[Message], *, key: RequestKey, observe: Observer) -> Completion:
        """See LLM.complete. Nothing is sent, so there is no call to observe."""
        assert isinstance(key, MetaKey)
        return self._answer(key)


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


class RecordedProposer(Proposer):
    """A proposer whose prompts are those on record, for sessions whose configuration is not."""

    def __init__(self, inner: Proposer, tape: Tape) -> None:
        self.name, self.kinds = inner.name, inner.kinds
        self._inner, self._tape = inner, tape

    def prompt(self, request: Request) -> str | None:
        """See Proposer.prompt."""
        event = self._tape.next
        if not isinstance(event, AskedEvent):
            return ""  # no question is on record: it differs from what is, whatever it says
        if event.prompt is None:
            raise PromptTooLong("it was too long then")
        return self._tape.text(event.prompt)

    def answer(self, request: Request, prompt: str | None, observe: Observer) -> Completion:
        """See Proposer.answer."""
        return self._inner.answer(request, prompt, observe)
