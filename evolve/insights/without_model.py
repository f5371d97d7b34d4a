"""The report without a model: a table of what was tried, and few sentences, each with its generations.

Sentences are written with citations, like a model's, and resolved by the same code.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from evolve.archive.reports import Insight, Insights, InsightsReport, ProgramSummary, Scratchpad, Text, joined
from evolve.insights.answers import MAX_RECOMMENDATIONS, clean_line
from evolve.insights.check import Editor
from evolve.insights.citations import cite, cite_step, gap_text, recommendation, resolved
from evolve.insights.evidence import Evidence, Group
from evolve.insights.facts import Fact
from evolve.insights.overview import best_lines, bullets, changed, changes, code, funnel, kinds, named

SHOWN = 4  # bullets of one sort
CITED = 2  # generations in one bullet
NAME_LIMIT = 200  # characters of a name


def offline_report(evidence: Evidence, new: Sequence[Fact], unit: str = "") -> InsightsReport:
    """The report over the programs of `new`, and over everything in `evidence`."""
    editor = Editor(facts=evidence.facts, unit=unit)
    advice = islice(_recommendations(evidence), MAX_RECOMMENDATIONS)
    return InsightsReport(
        summaries=tuple(code_summary(fact, evidence, editor) for fact in new if fact.is_program),
        scratchpad=_scratchpad(evidence),
        recommendations=tuple(recommendation(clean_line(text), evidence.facts) for text in advice),
    )


def code_summary(fact: Fact, evidence: Evidence, editor: Editor) -> ProgramSummary:
    """The summary of one program without a model. `editor` checks the patch's reason where a model wrote it."""
    if fact.parent_generation is None:
        other = "" if fact.origin.description else "The program that the run starts from."
    else:
        other = "" if fact.same_as is None else f"It does on every instance the same as generation {fact.same_as}."
    reason = clean_line(fact.origin.description, 300)
    if not fact.origin.by_code:
        reason = editor.line(reason, f"Generation {fact.generation}, Implementation")
    texts = [_sentence(reason), other, *(clean_line(f"Changed: {names}.") for names in changed(fact))]
    return ProgramSummary(
        generation=fact.generation,
        patch_name=clean_line(fact.origin.patch_name, NAME_LIMIT),
        correct=fact.correct,
        name=clean_line(fact.origin.patch_name.replace("_", " "), 100).title() or "Unnamed",
        implementation=resolved(" ".join(filter(None, texts)), evidence.facts),
        performance=performance(fact, evidence.facts),
        feedback=(_feedback(fact, evidence),),
    )


def _sentence(text: str) -> str:
    """A text of somebody else with the full stop that it may lack."""
    return text if not text or text.endswith((".", "!", "?", ":", "…")) else f"{text}."


def performance(fact: Fact, facts: Mapping[int, Fact]) -> Text:
    """How a program did: in every summary, whatever the author of the rest, a statement made by code."""
    if not fact.correct:
        return cite(fact), clean_line(f": {code(fact.fault)}." if fact.fault else ".")
    base = None if fact.base_generation is None or fact.change is None else facts.get(fact.base_generation)
    of = f"made of generations {', '.join(map(str, fact.contributors))}" if len(fact.contributors) > 1 else ""
    wins = "" if base is None or fact.wins is None else f"against {fact.base_name}: {fact.wins.sentence}"
    if fact.best_wins is not None and fact.best_generation != fact.base_generation:
        wins += f"; against the best when it came, generation {fact.best_generation}: {fact.best_wins.sentence}"
    more = "; ".join(["", *filter(None, [of, wins.lstrip("; "), gap_text(fact)])])
    return cite(fact) if base is None else cite_step([base, fact]), f"{more}."


def _feedback(fact: Fact, evidence: Evidence) -> str:
    if fact.quarantine is not None:
        return "Its score is not believed, and nothing is made from it."
    if fact.parent_generation is None:
        return "What every change is measured against."
    if not fact.correct:
        return "Its parent is correct: what failed is this change." if fact.base_correct else "It repaired nothing."
    if fact.change is None:
        return f"It repairs generation {fact.parent_generation}."
    if not fact.apart:
        return "The change decides nothing on this suite."
    best = ", and the best of the run when it came" if fact.generation in evidence.records else ""
    return f"A gain{best}." if fact.apart > 0 else f"A step back from generation {fact.base_generation}."


def _scratchpad(evidence: Evidence) -> Scratchpad:
    standing = joined([*best_lines(evidence), (funnel(evidence),)], "\n")
    table = kinds(evidence)
    return Scratchpad(
        preface=(
            "Counted by code, without a model. A change is that of the score, from a correct parent (of a crossover, "
            "from the best program that it saw).",
        ),
        sections=(
            _cited(_tallies(evidence.gainers()), "Nothing has gained on its parent yet.", evidence),
            _cited(_without_gain(evidence), "No failed approaches yet.", evidence),
            changes(evidence) or (Insight(text=("There is no program yet.",)),),
            (Insight(text=standing), Insight(mark="\n\n", text=(table,))) if table else (Insight(text=standing),),
        ),
    )


def _cited(lines: Iterator[str], otherwise: str, evidence: Evidence) -> Insights:
    items = bullets(resolved(clean_line(line), evidence.facts) for line in lines)
    return items or (Insight(text=(otherwise,)),)


def _tallies(groups: Iterable[Group]) -> Iterator[str]:
    for group in islice(groups, SHOWN):
        yield f"**{code(group.name)}** {_tally(group)}"


def _tally(group: Group) -> str:
    """How often what changed gained, and where, the best first."""
    best = () if group.best is None else (group.best[1],)
    cited = list(dict.fromkeys((*best, *group.gained, *group.lost, *group.same)))
    shown = ", ".join(f"gen {generation}" for generation in cited[:CITED])
    more = f" and {len(cited) - CITED} more" if len(cited) > CITED else ""
    return f"gained in {len(group.gained)} of {len(group.changes)}: [{shown}]{more}."


def _without_gain(evidence: Evidence) -> Iterator[str]:
    yield from _tallies(evidence.losers())
    for how, generations in sorted(evidence.failures.items(), key=lambda item: (-len(item[1]), item[0])):
        fault = evidence.facts[generations[-1]].fault
        yield f"**{how}**: {named(generations)}" + (f"; the last: {code(fault)}" if fault else "") + "."


def _recommendations(evidence: Evidence) -> Iterator[str]:
    """What the evidence speaks for, the most promising first."""
    best = evidence.best
    if best is None:
        yield f"**Get one correct program first**: of {evidence.programs} so far none is correct."
        return
    at = f"[gen {best.generation}]"
    if best.at_ceiling:
        yield f"**Shorten it, or change the suite**: {at} is {gap_text(best)}, and nothing can score above it."
        return
    line = {fact.generation for fact in evidence.chain()}
    aside = [group for group in evidence.gainers() if not line.intersection(group.gained)]
    # A gain on a weak program says little about a strong one.
    aside.sort(key=lambda group: -max(evidence.facts[generation].base_score or 0.0 for generation in group.gained))
    for group in aside[:2]:
        yield f"**Bring {code(group.name)} to the best program**, {at}, no descendant of it: it {_tally(group)}"
    yield f"**Start from {at}**, one change at a time: {evidence.gained} of {evidence.programs} programs gained so far."
