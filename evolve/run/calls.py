"""Every HTTP attempt of a run: allowed, recorded, and only then sent."""

from collections.abc import Callable
from functools import partial

from evolve.archive.archive import Archive
from evolve.completion import CallEvent, CallFailed, Observer
from evolve.run.desk import Desk

_FIELDS = ("call", "phase", "status", "http_status", "usage", "message")


class Calls:
    """`observer` is called from worker threads; what it does is done by the thread that owns the archive.

    `hurried` says whether the run is to end as soon as the answers under way are there: no failed call is repeated
    then, and the meta-summarizer asks no more.
    """

    def __init__(self, archive: Archive, desk: Desk, *, budget_usd: float | None, hurried: Callable[[], bool]) -> None:
        self._archive = archive
        self._desk = desk
        self._budget_usd = budget_usd
        self._hurried = hurried

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
                self._archive.called(key, **{name: getattr(event, name) for name in _FIELDS})
            else:
                refusals.append(refusal)

        self._desk.have(record)
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
