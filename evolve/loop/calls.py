"""Every HTTP attempt of a run: allowed, recorded, and only then sent; never more at a time than are allowed.

What a call may take is kept for it from the moment that its question is written down until its answer is: a budget is
exceeded by no more than what answers take beyond that.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

from evolve.archive.archive import Archive
from evolve.core.completion import (
    CallEvent,
    CallFailed,
    CallPhase,
    MetaKey,
    Observer,
    OutputLengthEstimator,
    RequestKey,
    estimate_tokens,
)
from evolve.core.config import Config
from evolve.core.usage import Budget, Spending, Usage
from evolve.loop.executor import Executor
from evolve.progress import Adapted, Event
from evolve.propose.troubles import Troubles
from evolve.search.stopping import OF_BUDGET, StopReason


class Calls:
    """What is asked of models. `asking` is used in worker threads; what is recorded is recorded by the thread that owns
    the archive.

    `usual` says how long an answer of each model may be; `tell` hears, once, what is asked otherwise of a model from
    now on. `draining` says whether the run is to end as soon as the answers under way are there: nothing that waits to
    be sent is sent then, and the meta-summarizer asks no more.
    """

    def __init__(
        self,
        archive: Archive,
        executor: Executor,
        *,
        config: Config,
        usual: Mapping[str, OutputLengthEstimator],
        draining: Callable[[], bool],
        tell: Callable[[Event], None],
    ) -> None:
        self._archive = archive
        self._executor = executor
        self._budget = Budget(usd=config.budget_usd, tokens=config.budget_tokens, calls=config.budget_calls)
        self._usual = usual
        self._draining = draining
        self._tell = tell
        self._places = config.parallel
        self._changed = threading.Condition()  # a place is free, or the run is to end
        self._placed: set[RequestKey] = set()
        self._held_back: set[RequestKey] = set()
        self.troubles = Troubles()
        self.exhausted: StopReason | None = None
        """Which budget refused a call."""

    @property
    def held_back(self) -> int:
        """How many requests wait since their endpoint takes no more for now. They hold none of the places."""
        with self._changed:
            return len(self._held_back)

    @contextmanager
    def asking(self, key: RequestKey) -> Iterator[Observer]:
        """The observer of the calls for a request. While one is under way it holds one of the `parallel` places,
        patches and insights reports alike; between two of them it holds none.

        It raises CallFailed instead of letting a call be sent that may not: `cancelled` when the run ends
        before, `budget` when what it may take is more than there is left.
        """
        try:
            yield partial(self._observe, key)
        finally:
            with self._changed:
                self._held_back.discard(key)
                self._leave(key)
            self.troubles.ended(key)

    def hurry(self) -> None:
        """Let those that wait for a place look whether the run is to end."""
        with self._changed:
            self._changed.notify_all()

    def expected_tokens(self, model: str, prompt: str | None) -> int:
        """What a question may take, sent and received; 0 where no model is asked that counts."""
        usual = self._usual.get(model)
        return 0 if usual is None or prompt is None else estimate_tokens(prompt) + usual.tokens()

    def affordable(self, cost_usd: float, tokens: int) -> bool:
        """Whether the budget allows one more call, should every call under way take what is expected of it."""
        return self._exceeded(Spending(calls=1, known_usd=cost_usd, tokens_in=tokens), but=None) is None

    def _exceeded(self, amount: Spending, *, but: RequestKey | None) -> str | None:
        accounts = self._archive.reader.accounts
        key = self._budget.exceeded(accounts.spent, accounts.committed(but=but), amount)
        if key is not None:
            self.exhausted = OF_BUDGET[key]
        return key

    def _observe(self, key: RequestKey, event: CallEvent) -> None:
        with self._changed:
            (self._held_back.add if event.phase == CallPhase.WAITING else self._held_back.discard)(key)
            if event.phase == CallPhase.CALLING:
                self._take(key)
            elif event.phase != CallPhase.WAITING:
                self._leave(key)
        self.troubles.note(key, event)
        if event.phase == CallPhase.WAITING:
            if self._draining():
                raise _cancelled()
        elif event.phase != CallPhase.ANSWERED:  # an answer has an event of its own
            refusal = self._executor.post(partial(self._record, key, event))
            if refusal is not None:
                raise refusal

    def _take(self, key: RequestKey) -> None:
        """Wait for a place. Raises CallFailed (`cancelled`) when the run is to end before one is free."""
        if key not in self._placed:
            self._changed.wait_for(lambda: len(self._placed) < self._places or self._draining())
            if len(self._placed) >= self._places:
                raise _cancelled()
            self._placed.add(key)

    def _leave(self, key: RequestKey) -> None:
        self._placed.discard(key)
        self._changed.notify()

    def _record(self, key: RequestKey, event: CallEvent) -> CallFailed | None:
        """Record what a call came to, unless it is refused; for the thread that owns the archive."""
        refusal = self._refusal(key, event)
        if refusal is None:
            self._archive.called(key, event)
            if event.adapted:
                self._tell(Adapted(changes=tuple(event.adapted)))
            self.report_troubles()
        return refusal

    def report_troubles(self) -> None:
        """Report the servers that refuse, fail or do not answer, when it is due; for the archive's own thread."""
        for trouble in self.troubles.due():
            self._tell(trouble)

    def _refusal(self, key: RequestKey, event: CallEvent) -> CallFailed | None:
        if event.phase != CallPhase.CALLING:
            return None
        if self._draining() and (event.call > 0 or isinstance(key, MetaKey)):
            return _cancelled()
        exceeded = self._exceeded(Spending().sent().plus(event.usage), but=key)
        return None if exceeded is None else CallFailed("budget", self._unaffordable(exceeded, event.usage))

    def _unaffordable(self, exceeded: str, usage: Usage) -> str:
        spent, budget = self._archive.reader.spent, self._budget
        match exceeded:
            case "budget_usd":
                cost = usage.cost_usd or 0.0  # a budget in dollars is kept only where every price is known
                used, more = f"{spent.known_usd:.4f} of {budget.usd:g} USD are spent", f"{cost:.4f} USD"
            case "budget_tokens":
                tokens = usage.tokens_in + usage.tokens_out
                used, more = f"{spent.tokens:,} of {budget.tokens:,} tokens are spent", f"{tokens:,} tokens"
            case _:
                used, more = f"{spent.calls} of {budget.calls} calls were made", "a call"
        return f"not asked: {used}, without calls under way, and this call could take {more} more ({exceeded})"


def _cancelled() -> CallFailed:
    return CallFailed("cancelled", "not asked, since the run is ending")
