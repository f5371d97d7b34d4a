"""What came of the recommendations, in words and figures that code alone puts there."""

from collections.abc import Mapping, Sequence

from evolve.archive.archive import Archive
from evolve.completion import Followed
from evolve.evidence.facts import Fact
from evolve.guidance.history import TITLE, History, Trial
from evolve.meta.citations import told
from evolve.meta.document import clean_line

_LONGEST = 100  # characters of a title
_SAID = {
    Followed.YES: "tried in",
    Followed.PARTLY: "partly tried in",
    Followed.NO: "not followed by",
    None: "given, and nothing said of it, to",
}


def outcomes(archive: Archive, history: History, facts: Mapping[int, Fact]) -> tuple[str, ...]:
    """What came of each recommendation of the document in force, a line each; and of those of the document before it
    that were handed out, for some may have been under way when that was written. `facts` are of what has ended."""
    shown, closings = archive.meta.shown, archive.meta.closings
    if shown not in archive.meta.documents:
        return ()
    now = _lines(history, shown, facts)
    before = max((one for one in archive.meta.documents if one < shown and one not in closings), default=None)
    if before is None:
        return tuple(now.values())
    earlier = _lines(history, before, facts, which=" of the document before", untried=False)
    return (*now.values(), *(line for advice, line in earlier.items() if advice not in now))


def _lines(
    history: History, programs: int, facts: Mapping[int, Fact], *, which: str = "", untried: bool = True
) -> dict[str, str]:
    texts = history.document(programs).recommendations
    return {
        text: f"Recommendation {number}{which} ({title_of(text)}): {told_trials(trials, facts)}."
        for number, (text, trials) in enumerate(zip(texts, history.trials(texts), strict=True), 1)
        if trials or untried
    }


def told_trials(trials: Sequence[Trial], facts: Mapping[int, Fact]) -> str:
    """What came of a recommendation."""
    return "; ".join(told_trial(trial, facts.get(trial.generation)) for trial in trials) or "never handed out"


def told_trial(trial: Trial, fact: Fact | None) -> str:
    """What came of one trial; `fact` is None while it has not ended."""
    ended = f"generation {trial.generation}, which has not ended" if fact is None else told(fact)
    if trial.followed is Followed.ALREADY_THERE:
        return f"said to be already there in generation {trial.parent} by {ended}"
    return f"{_SAID[trial.followed]} {ended}"


def title_of(text: str) -> str:
    """The title of a recommendation, or its beginning where it has none."""
    title = TITLE.match(text)
    return clean_line(text if title is None else title[1], _LONGEST)
