"""The recommendations without a model: each follows from counted evidence and says from which."""

from collections.abc import Iterator, Sequence
from itertools import islice

from evolve.meta.anatomy import Anatomy
from evolve.meta.document import MAX_RECOMMENDATIONS
from evolve.meta.evidence import SAME, Evidence, Group, change_text, cite, score_text
from evolve.meta.facts import Fact
from evolve.meta.insights import gainers, losers
from evolve.meta.wording import code, feature, listed, plural, tally

_REMEDIES = {
    "cpu_limit": "bound every loop by a count of steps",
    "timeout": "bound every loop by a count of steps",
    "oom": "keep less in memory at once",
    "exception": "check names, empty lists and divisions before relying on them",
    "load_error": "define what is used, and keep the entry point as it is",
    "infeasible": "check the constraint before a change is kept",
    "invalid_output": "return exactly what the task asks for",
    "nondeterministic": "draw every random number from a seeded generator",
}


def recommendations(evidence: Evidence, best: Anatomy, vocabulary: Sequence[str] = ()) -> tuple[str, ...]:
    """At most five, the most promising first, each of another sort."""
    if evidence.best is None:
        return (
            "**Get one correct program first**: nothing scores until every instance is answered. "
            f"{plural(evidence.programs, 'program')} so far, none correct.",
        )
    if evidence.best.at_ceiling:
        return (_solved(evidence.best, best),)
    sorts = (_missing, _untried, _constants, _crossing, _failures, _in_vain, _deeper)
    found = (text for sort in sorts for text in islice(sort(evidence, evidence.best, best, vocabulary), 2))
    return tuple(islice(found, MAX_RECOMMENDATIONS))


def _at(best: Fact) -> str:
    return f"the best program (generation {best.generation}, {score_text(best.combined_score or 0.0)})"


def _solved(best: Fact, parts: Anatomy) -> str:
    text = (
        f"**Shorten, or change the suite**: {_at(best)} has reached the ceiling of {score_text(best.ceiling or 0.0)}, "
        "and nothing can score above it. What is left here is the same score with less: "
    )
    if len(parts.operators) > 1:
        return text + f"drop one of {listed([code(name) for name in parts.operators])} and see whether the score holds."
    return text + "remove what the score does not need."


def _lacking(evidence: Evidence, parts: Anatomy, vocabulary: Sequence[str]) -> list[tuple[Group, Fact]]:
    """Operators that gained and that the best program does not use, each with the program of its best try.

    Those that gained on the strongest parents come first: a gain on a weak program says little about a strong one.
    """
    found = [
        (group, max((evidence.facts[g] for g in group.gained), key=lambda f: (f.parent_score or 0.0, -f.generation)))
        for group in (gainers(evidence) if parts.known else ())
        if group.name in vocabulary and group.name not in parts.operators
    ]
    return sorted(found, key=lambda pair: -(pair[1].parent_score or 0.0))


def _missing(evidence: Evidence, best: Fact, parts: Anatomy, vocabulary: Sequence[str]) -> Iterator[str]:
    for group, fact in _lacking(evidence, parts, vocabulary):
        yield (
            f"**Bring {code(group.name)} into the best program**: it {tally(group)}, the strongest parent that it "
            f"helped being generation {fact.parent_generation} ({score_text(fact.parent_score or 0.0)}); "
            f"{_at(best)} does not use it."
        )


def _untried(evidence: Evidence, best: Fact, parts: Anatomy, vocabulary: Sequence[str]) -> Iterator[str]:
    tried = {word for name in evidence.by_feature for word in name.split(" ")}.union(parts.operators)
    never = [name for name in sorted(vocabulary) if name not in tried]
    if never:
        shown = listed([code(name) for name in never[:4]]) + (f", among {len(never)}" if len(never) > 4 else "")
        yield (
            f"**Try what no patch has tried**: {shown}. There is no evidence for or against "
            f"{'it' if len(never) == 1 else 'them'} yet; start from {_at(best)}."
        )


def _constants(evidence: Evidence, best: Fact, parts: Anatomy, vocabulary: Sequence[str]) -> Iterator[str]:
    for name, value in parts.constants:
        for verb, other in (("raise", "lower"), ("lower", "raise")):
            group = evidence.by_feature.get(f"{verb} {name.lower()}")
            if group is not None and group.gained and (group.mean or 0.0) > SAME:
                yield (
                    f"**{verb.capitalize()} `{name}` further** (now {value}): {feature(group.name)} {tally(group)}. "
                    f"Should that stop gaining, {other} it back by half a step."
                )
    still = [f"`{name} = {value}`" for name, value in parts.constants if name.lower() not in evidence.moved]
    if still:
        yield (
            f"**Move a constant nobody has moved**: {listed(still[:4])} in {_at(best)}; double or halve one at a "
            "time, so that a change of score has one cause."
        )


def _crossing(evidence: Evidence, best: Fact, parts: Anatomy, vocabulary: Sequence[str]) -> Iterator[str]:
    """A gain that is not in the best program's ancestry could be joined with it."""
    line = {fact.generation for fact in evidence.chain()}
    aside = [
        evidence.facts[generation]
        for group in evidence.by_kind.values()
        for generation in group.gained
        if generation not in line
    ]
    known = {name for fact in evidence.chain() for name in fact.features}
    known |= {group.name for group, _ in _lacking(evidence, parts, vocabulary)}  # has its own recommendation
    other = [fact for fact in aside if fact.features and not known.intersection(fact.features)]
    if other:
        chosen = max(other, key=lambda fact: (fact.combined_score or 0.0, -fact.generation))
        what = listed([feature(name) for name in chosen.features[:3]])
        yield (
            f"**Cross generation {chosen.generation} ({score_text(chosen.combined_score or 0.0)}) into the best "
            f"program**: {what} gained {change_text(chosen.change or 0.0).lstrip('+')} there, in a line that "
            f"{_at(best)} does not descend from."
        )


def _failures(evidence: Evidence, best: Fact, parts: Anatomy, vocabulary: Sequence[str]) -> Iterator[str]:
    frequent = [(name, found) for name, found in evidence.outcomes.items() if len(found) > 1 and name in _REMEDIES]
    if frequent:
        name, found = max(frequent, key=lambda item: (len(item[1]), item[0]))
        yield (
            f"**Avoid another {code(name)}**: {len(found)} of {evidence.programs} programs ended so ({cite(found)}); "
            f"{_REMEDIES[name]}."
        )


def _in_vain(evidence: Evidence, best: Fact, parts: Anatomy, vocabulary: Sequence[str]) -> Iterator[str]:
    vain = [
        group for group in losers(evidence) if group.compared > 1 and not group.name.startswith(("without ", "take "))
    ]
    if vain:
        shown = "; ".join(f"{feature(group.name)} {tally(group)}" for group in vain[:2])
        yield f"**Leave what has not helped**: {shown}. Use it again only together with something new."


def _deeper(evidence: Evidence, best: Fact, parts: Anatomy, vocabulary: Sequence[str]) -> Iterator[str]:
    for group in gainers(evidence):
        if group.name not in vocabulary or group.name in parts.operators:
            yield (
                f"**Build on {feature(group.name)}**: it {tally(group)}; vary how it works, one part at a time, "
                f"in {_at(best)}."
            )
    yield (
        f"**Start from {_at(best)}** and change one thing at a time: {evidence.gained} of {evidence.programs} programs "
        "were better than their parent so far."
    )
