"""The evidence on a page: for the prompts of a model, and for the reports that are written without one."""

from collections.abc import Iterable, Iterator, Sequence

from evaluator.untrusted import inert_markdown, one_line
from evolve.archive.reports import Insight, Insights, Text, body, shown
from evolve.insights.citations import cite, cite_step, gap_text
from evolve.insights.credit import SAME
from evolve.insights.evidence import Evidence, Group
from evolve.insights.facts import Fact

TABLE_FROM = 10  # programs; fewer are listed one by one, for a table would show little but ones
MOST_ROWS = 12  # of a table: what was tried most
NAMED = 6  # generations, where a list of them stands: the last ones


def overview(evidence: Evidence) -> str:
    """All of it as compact Markdown, for the prompts of the summarizer."""
    parts = [funnel(evidence), *map(shown, best_lines(evidence)), kinds(evidence), shown(body(changes(evidence)))]
    if evidence.failures:
        lines = [f"- {how}: {named(failed)}" for how, failed in sorted(evidence.failures.items())]
        parts.append("What gave no correct program:\n" + "\n".join(lines))
    return "\n\n".join(part for part in parts if part)


def funnel(evidence: Evidence) -> str:
    """How many of the generations came how far."""
    gains = f"{evidence.gained} a gain on what it was made from, {len(evidence.records)} a new best"
    total, programs = len(evidence.facts), evidence.programs
    return f"Of {total} generations, {programs} gave a program, {evidence.correct} a correct one, {gains}."


def best_lines(evidence: Evidence) -> Iterator[Text]:
    """The best program, and the way to it."""
    if evidence.best is None:
        return
    gap = gap_text(evidence.best)
    yield "The best program is ", cite(evidence.best), f", {gap}." if gap else "."
    chain = evidence.chain()
    if len(chain) > 1:
        way = chain if len(chain) <= NAMED else (chain[0], *chain[1 - NAMED :])
        yield "The way to it: ", cite_step(way, cut=way is not chain), "."


def kinds(evidence: Evidence) -> str:
    """What was tried, by kind of patch; "" while a table would be premature."""
    return _table("kind of patch", evidence.by_kind.values(), evidence) if evidence.programs >= TABLE_FROM else ""


def changes(evidence: Evidence) -> Insights:
    """What was tried, by what changed; of few programs, each with its score and what it changed."""
    if evidence.programs >= TABLE_FROM:
        table = _table("what changed", evidence.changes(), evidence)
        return (Insight(text=(table,)),) if table else ()
    programs = [fact for fact in evidence.facts.values() if fact.is_program]
    return bullets((cite(fact), *(f": {names}" for names in changed(fact))) for fact in programs)


def bullets(texts: Iterable[Text]) -> Insights:
    """The items of a list."""
    return tuple(Insight(mark="\n- " if number else "- ", text=text) for number, text in enumerate(texts))


def changed(fact: Fact) -> list[str]:
    """What a patch changed, as one text of code spans; none if that is not known."""
    return [", ".join(map(code, fact.origin.features))] if fact.origin.features else []


def _table(title: str, groups: Iterable[Group], evidence: Evidence) -> str:
    """The groups that were tried most; "" for none."""
    shown = sorted(groups, key=lambda group: (-len(group.programs), group.name))[:MOST_ROWS]
    by_instance = ["instances better, same, worse", "than the best when they came"]
    by_instance *= any(any(group.wins) for group in shown)
    titles = [title, "tried", "correct", "gained", "lost", "mean change", "best", *by_instance]
    lines = [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]
    for group in shown:
        mean = "" if group.mean is None else _worded(group.mean, evidence)
        best = "" if group.best is None else f"{_worded(group.best[0], evidence)} (generation {group.best[1]})"
        counts = len(group.programs), group.correct, len(group.gained), len(group.lost)
        wins = [", ".join(map(str, tally)) for tally in (group.wins, group.best_wins)][: len(by_instance)]
        lines.append(f"| {' | '.join([code(group.name), *map(str, counts), mean, best, *wins])} |")
    return "\n".join(lines) if shown else ""


def _worded(change: float, evidence: Evidence) -> str:
    """A change of the score as people read it: there is one only where something is correct."""
    best = evidence.best
    return "" if best is None else best.scale.worded(change * best.sign if abs(change) > SAME else 0.0)


def named(gens: Sequence[int]) -> str:
    """`generation 4`, `generations 4, 5, 9`; of many, the last few."""
    return f"generation{'s' * (len(gens) > 1)} {'..., ' * (len(gens) > NAMED)}{', '.join(map(str, gens[-NAMED:]))}"


def warning(evidence: Evidence) -> str:
    """What a reader must know before anything else: quarantined programs and the last one's reason, that
    programs share the process which scores them; else ""."""
    bad, best = evidence.failures.get("quarantined", []), evidence.best
    own = "Scores are self-judged: a program shares the process that scores it." * bool(best and best.self_judged)
    hole = bad and (
        f"{named(bad)} {'is' if len(bad) == 1 else 'are'} quarantined: the evaluator or the task has a bug, to be "
        f"fixed before any score here can be trusted. The last reason: {evidence.facts[bad[-1]].fault}"
    )
    return " ".join(text for text in (hole, own) if text)


def code(text: str) -> str:
    """Any text as a code span, in a table too."""
    return f"`{inert_markdown(one_line(' '.join(text.split()), 160)).replace('`', chr(39)).replace('|', '/')}`"
