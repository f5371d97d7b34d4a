"""Every HTTP attempt of a run: allowed, recorded, and only then sent; never more at a time than are allowed."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from evolve.archive.archive import Archive
from evolve.completion import CallEvent, CallFailed, Observer
from evolve.progress import Adapted, Event
from evolve.run.mailbox import Mailbox

_POLL_S = 0.1


class Calls:
    """What is asked of models. `observer` and `permit` are used in worker threads; what is recorded is recorded by the
    thread that owns the archive.

    `tell` hears, once, what is asked otherwise of a model from now on. `hurried` says whether the run is to end as soon
    as the answers under way are there: no failed call is repeated then, and the meta-summarizer asks no more.
    """

    def __init__(
        self,
        archive: Archive,
        mailbox: Mailbox,
        *,
        parallel: int,
        budget_usd: float | None,
        hurried: Callable[[], bool],
        tell: Callable[[Event], None],
    ) -> None:
        self._archive = archive
        self._mailbox = mailbox
        self._budget_usd = budget_usd
        self._hurried = hurried
        self._tell = tell
        self._free = threading.BoundedSemaphore(parallel)

    @contextmanager
    def permit(self) -> Iterator[None]:
        """Hold one of the `parallel` places while a request is under way, patches and meta documents alike.

        Raises CallFailed (`cancelled`) when the run ends before a place is free.
        """
        while not self._free.acquire(timeout=_POLL_S):
            if self._hurried():
                raise CallFailed("cancelled", "not asked, since the run is ending")
        try:
            yield
        finally:
            self._free.release()

    def affordable(self, cost_usd: float, *, key: str | None = None) -> bool:
        """Whether the budget allows a call for the request `key`, should every call under way cost what is expected."""
        if self._budget_usd is None:
            return True
        return self._archive.spent_usd + self._archive.committed_usd(but=key) + cost_usd <= self._budget_usd

    def observer(self, key: str) -> Observer:
        """Who is told of the calls for a request. Raises CallFailed instead of letting one be sent that may not."""
        return partial(self._observe, key)

    def _observe(self, key: str, event: CallEvent) -> None:
        if event.phase == "answered":  # an answer has an event of its own
            return
        refusals: list[CallFailed] = []

        def record() -> None:
            refusal = self._refusal(key, event)
            if refusal is None:
                self._archive.called(key, event)
                if event.adapted:
                    self._tell(Adapted(changes=tuple(event.adapted)))
            else:
                refusals.append(refusal)

        self._mailbox.post(record)
        if refusals:
            raise refusals[0]

    def _refusal(self, key: str, event: CallEvent) -> CallFailed | None:
        if event.phase != "calling":
            return None
        if self._hurried() and (event.call > 0 or key.startswith("meta/")):
            return CallFailed("cancelled", "not asked, since the run is ending")
        cost_usd = event.usage.cost_usd or 0.0  # a budget is kept only where every price is known
        if not self.affordable(cost_usd, key=key):
            return CallFailed(
                "budget",
                f"not asked: {self._archive.spent_usd:.4f} USD are spent, and this call may cost "
                f"{cost_usd:.4f} USD more, with a budget of {self._budget_usd:g} USD",
            )
        return None
