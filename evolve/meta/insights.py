"""The scratchpad without a model: what gained, what did not, what the best program is, where the run stands."""

from collections.abc import Sequence

from evolve.archive.records import Status
from evolve.meta.anatomy import Anatomy
from evolve.meta.document import Scratchpad
from evolve.meta.evidence import SAME, Evidence, Group, change_text, cite, gap_text, score_text
from evolve.meta.facts import Fact, in_short
from evolve.meta.wording import code, feature, listed, plural, reason, tally

SHOWN = 4
"""So many bullets at most for one kind of statement."""


def scratchpad(evidence: Evidence, best: Anatomy) -> Scratchpad:
    """The four sections; `best` is the best program taken apart (empty when its source is not at hand)."""
    return Scratchpad(
        preface=_preface(evidence),
        patterns=_bullets(_patterns(evidence), "Nothing has gained on its parent yet."),
        ineffective=_bullets(_ineffective(evidence), "Nothing has been tried in vain yet."),
        insights=_bullets(_implementation(evidence, best), "There is no correct program to look into yet."),
        performance=_bullets(_performance(evidence), "There is no correct program to rank yet."),
    )


def _bullets(lines: Sequence[str], otherwise: str) -> str:
    return "\n".join(f"- {line}" for line in lines) if lines else otherwise


def _preface(evidence: Evidence) -> str:
    last = max(evidence.facts, default=0)
    return (
        f"Counted by code, without a model, over generations 0 to {last}: changes are differences of combined score "
        "against the parent, between correct programs."
    )


def gainers(evidence: Evidence) -> list[Group]:
    """The features that gained on average, the most convincing first: more gains, then the larger mean."""
    found = [g for g in evidence.by_feature.values() if g.gained and g.mean is not None and g.mean > SAME]
    return sorted(found, key=lambda g: (-len(g.gained), -(g.mean or 0.0), g.name))


def told_apart(groups: Sequence[Group]) -> list[tuple[Group, str]]:
    """Groups with what to call them; features that were only ever tried together are one, under all their names."""
    together: dict[tuple[int, ...], list[Group]] = {}
    for group in groups:
        together.setdefault((*group.gained, -1, *group.lost, -1, *group.same), []).append(group)
    return [(alike[0], listed([feature(group.name) for group in alike[:4]])) for alike in together.values()]


def losers(evidence: Evidence) -> list[Group]:
    """The features that never gained though they were compared, the most tried first."""
    found = [g for g in evidence.by_feature.values() if g.compared and not g.gained]
    return sorted(found, key=lambda g: (-g.compared, g.mean or 0.0, g.name))


def _patterns(evidence: Evidence) -> list[str]:
    lines: list[str] = []
    chain = evidence.chain()
    steps = [fact for fact in chain if fact.change is not None and fact.change > SAME]
    if steps and chain[0].combined_score is not None:
        shown = sorted(steps, key=lambda fact: -(fact.change or 0.0))[:SHOWN]
        path = "; ".join(_step(fact) for fact in sorted(shown, key=lambda fact: fact.generation))
        size = f"{plural(len(steps), 'gain')}" + (f", the {len(shown)} largest being" if len(steps) > SHOWN else "")
        lines.append(
            f"**The line to the best program** (generation {chain[0].generation}, {score_text(chain[0].combined_score)}"
            f" -> generation {chain[-1].generation}, {score_text(chain[-1].combined_score or 0.0)}) is "
            f"made of {size}: {path}."
        )
    for group, name in told_apart(gainers(evidence))[:SHOWN]:
        why = _why(group, evidence)
        lines.append(f"**{_capital(name)}** {tally(group)}." + (f" The reason given: {why}" if why else ""))
    return lines


def _step(fact: Fact) -> str:
    what = listed([feature(name) for name in fact.features[:3]]) if fact.features else code(fact.patch_name)
    return f"{change_text(fact.change or 0.0)} by {what} (generation {fact.generation})"


def _why(group: Group, evidence: Evidence) -> str:
    """The reason that the best patch of a group carries, if that patch is about nothing else."""
    if group.best is None:
        return ""
    fact = evidence.facts[group.best[1]]
    return reason(fact.description, 160) if len(fact.features) == 1 else ""


def _ineffective(evidence: Evidence) -> list[str]:
    vain = [group for group in losers(evidence) if not group.name.startswith("without ")]
    lines = [f"**{_capital(name)}** {tally(group)}." for group, name in told_apart(vain)[:SHOWN]]
    idle = [generation for group in evidence.by_kind.values() for generation in group.same]
    if idle:
        lines.append(
            f"**Changes without effect**: {plural(len(idle), 'program')} "
            f"({cite(sorted(idle))}) {'scores' if len(idle) == 1 else 'score'} exactly what the parent scored."
        )
    for outcome, generations in sorted(evidence.outcomes.items(), key=lambda item: (-len(item[1]), item[0])):
        lines.append(
            f"**{_capital(outcome.replace('_', ' '))}**: {plural(len(generations), 'program')} failed this way "
            f"({cite(generations)}){_shared(generations, evidence)}.{_example(generations[-1], evidence)}"
        )
    if evidence.refusals:
        ways = [f"{key} ({cite(found)})" for key, found in sorted(evidence.refusals.items())]
        count = sum(map(len, evidence.refusals.values()))
        lines.append(f"**No program at all** came of {plural(count, 'generation')}: {'; '.join(ways)}.")
    return lines


def _shared(generations: Sequence[int], evidence: Evidence) -> str:
    """What several failures have in common, as the end of a phrase."""
    counts: dict[str, int] = {}
    for generation in generations:
        for name in evidence.facts[generation].features:
            counts[name] = counts.get(name, 0) + 1
    common = sorted((name for name, count in counts.items() if count > 1), key=lambda name: (-counts[name], name))
    return f"; {counts[common[0]]} of them with {feature(common[0])}" if common else ""


def _example(generation: int, evidence: Evidence) -> str:
    fact = evidence.facts[generation]
    said = reason(fact.quarantine or in_short(fact.detail), 160)
    return f" For example (generation {generation}, failed): {said}" if said else ""


def _implementation(evidence: Evidence, best: Anatomy) -> list[str]:
    lines: list[str] = []
    if evidence.best is None:
        return lines
    where = f"the best program (generation {evidence.best.generation})"
    if best.known:
        parts = f", with {listed([code(name) for name in best.operators])} at work" if best.operators else ""
        lines.append(
            f"**Make-up**: {where} has {plural(best.functions, 'function')} in {plural(best.lines, 'line')}{parts}."
        )
    moved = [_constant(name, value, evidence) for name, value in best.constants if name.lower() in evidence.moved]
    still = [f"`{name} = {value}`" for name, value in best.constants if name.lower() not in evidence.moved]
    if moved:
        lines.append(f"**Constants that were moved**: {'; '.join(moved)}.")
    if still:
        lines.append(f"**Constants nobody has moved yet** in {where}: {listed(still)}.")
    dropped = [g for name, g in sorted(evidence.by_feature.items()) if name.startswith("without ") and g.compared]
    needed = [f"{feature(g.name)} {tally(g)}" for g in dropped if g.lost and not g.gained]
    spare = [f"{feature(g.name)} {tally(g)}" for g in dropped if not g.lost]
    if needed:
        lines.append(f"**What the score needs**: {'; '.join(needed[:SHOWN])}.")
    if spare:
        lines.append(f"**What the score does not need**: {'; '.join(spare[:SHOWN])}.")
    return lines


def _constant(name: str, value: str, evidence: Evidence) -> str:
    ways = []
    for verb in ("raise", "lower"):
        group = evidence.by_feature.get(f"{verb} {name.lower()}")
        if group is not None:
            ways.append(f"{feature(group.name).split(' ')[0]} it {tally(group)}")
    return f"`{name} = {value}` now" + (f" ({'; '.join(ways)})" if ways else "")


def _performance(evidence: Evidence) -> list[str]:
    best = evidence.best
    if best is None or best.combined_score is None:
        return []
    lines = [
        f"**Best**: generation {best.generation} scores {score_text(best.combined_score)}{gap_text(best)}"
        f"{_closed(evidence)}."
    ]
    if len(evidence.records) > 1:
        way = [f"{_score(evidence, g)} (generation {g})" for g in evidence.records]
        shown = [way[0], "...", *way[-4:]] if len(way) > 6 else way
        since = max(evidence.facts) - evidence.records[-1]
        after = f"; {plural(since, 'generation')} without a new best since" if since > 0 else ""
        lines.append(f"**Progress**: {' -> '.join(shown)}{after}.")
    tiers = _tiers(evidence)
    if len(tiers) > 1:
        named = [f"{score} ({cite(found)})" for score, found in tiers[:SHOWN]]
        lines.append(f"**Tiers**: {plural(len(tiers), 'distinct score')}; the highest are {'; '.join(named)}.")
        score, found = max(tiers, key=lambda tier: len(tier[1]))
        if len(found) > 2:
            lines.append(f"**Plateau**: {len(found)} of {evidence.correct} correct programs score {score}.")
    kinds = [g for g in evidence.most_tried(evidence.by_kind, SHOWN) if g.compared and g.mean is not None]
    if len(kinds) > 1:
        named = [
            f"{code(g.name)} gained in {len(g.gained)} of {g.compared}, mean change {change_text(g.mean or 0.0)}"
            for g in kinds
        ]
        lines.append(f"**By kind of patch**: {'; '.join(named)}.")
    ended = [
        f"{count} {status.value}"
        for status, count in sorted(evidence.statuses.items())
        if status is not Status.EVALUATED
    ]
    lines.append(
        f"**Funnel**: {plural(len(evidence.facts), 'generation')} gave {plural(evidence.programs, 'program')}"
        f"{' (' + ', '.join(ended) + ')' if ended else ''}; {evidence.correct} correct, "
        f"{evidence.gained} better than their parent, "
        f"{len(evidence.records)} the best when they came."
    )
    return lines


def _closed(evidence: Evidence) -> str:
    """What share of the way from the first correct program to the ceiling is done, as the end of a phrase."""
    best, first = evidence.best, evidence.facts[evidence.records[0]]
    if (
        best is None
        or best.gap is None
        or first.gap is None
        or first.gap <= SAME
        or first.generation == best.generation
    ):
        return ""
    share = 100 * (1 - max(0.0, best.gap) / first.gap)
    return f"; {share:.2f} % of the distance from generation {first.generation} is closed"


def _score(evidence: Evidence, generation: int) -> str:
    return score_text(evidence.facts[generation].combined_score or 0.0)


def _tiers(evidence: Evidence) -> list[tuple[str, list[int]]]:
    """The correct programs by score as quoted, the highest first."""
    tiers: dict[str, list[int]] = {}
    for fact in evidence.facts.values():
        if fact.correct and fact.combined_score is not None:
            tiers.setdefault(score_text(fact.combined_score), []).append(fact.generation)
    return sorted(tiers.items(), key=lambda tier: -float(tier[0]))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
