"""How documents made by code put things: titles, reasons, changes, lists. Texts of others are made harmless here."""

import re
from collections.abc import Sequence

from evaluator.untrusted import one_line
from evolve.meta.evidence import Group, change_text, cite
from evolve.meta.facts import Fact
from evolve.program import PatchKind

_KINDS = {
    PatchKind.INITIAL: "The program that the run starts from",
    PatchKind.DIFF: "A patch of",
    PatchKind.FULL: "A rewrite of",
    PatchKind.CROSS: "A crossover into",
    PatchKind.FIX: "A repair of",
    PatchKind.TUNE: "A constant moved in",
}


def code(text: str) -> str:
    """Any text as a code span."""
    return f"`{one_line(' '.join(text.split()), 80).replace('`', chr(39))}`"


def title(fact: Fact) -> str:
    """A patch name as a title: `add_swap_two_one` reads "Add Swap Two One"."""
    words = re.sub(r"[_\s]+", " ", one_line(" ".join(fact.patch_name.split()), 90)).strip()
    return " ".join(word[:1].upper() + word[1:] for word in words.split(" ")) or "Unnamed"


def reason(text: str, limit: int = 300) -> str:
    """The first sentences of somebody's reason, as one sentence: a capital first, a full stop last."""
    words = " ".join(text.split())
    if not words:
        return ""
    short = words if len(words) <= limit else words[:limit].rsplit(" ", 1)[0] + " ..."
    shown = one_line(short, limit + 4)
    return shown[0].upper() + shown[1:] + ("" if shown.endswith((".", "!", "?")) else ".")


def origin(fact: Fact) -> str:
    """Where a program comes from, as the beginning of a sentence."""
    if fact.parent_generation is None:
        return _KINDS[PatchKind.INITIAL]
    return f"{_KINDS[fact.kind]} generation {fact.parent_generation}"


def feature(name: str) -> str:
    """A feature as a reader sees it: `x`, dropping `x`, raising `x`, `y` in place of `x`."""
    verb, _, rest = name.partition(" ")
    if verb == "replace" and rest:
        old, _, new = rest.partition(" ")
        return f"{code(new)} in place of {code(old)}"
    verbs = {"without": "dropping", "raise": "raising", "lower": "lowering", "take": "taking over"}
    return f"{verbs[verb]} {code(rest)}" if rest and verb in verbs else code(name)


def tally(group: Group) -> str:
    """How often a group gained and by how much: "gained in 3 of 4 (generations 5, 9 and 12), mean change +0.0123"."""
    if not group.compared or group.mean is None:
        return f"{plural(group.programs, 'program')}, none comparable with its parent"
    if group.compared == 1:
        how = "changed nothing"
        if group.gained or group.lost:
            how = f"{'gained' if group.gained else 'lost'} {change_text(abs(group.mean)).lstrip('+')}"
        return f"{how} in one try{_cited([*group.gained, *group.lost, *group.same])}"
    if not group.gained and not group.lost:
        return f"changed nothing in {group.compared} tries{_cited(group.same)}"
    parts = [f"gained in {len(group.gained)} of {group.compared} tries{_cited(group.gained)}"]
    if group.lost:
        parts.append(f"lost in {len(group.lost)}{_cited(group.lost)}")
    return f"{', '.join(parts)}, mean change {change_text(group.mean)}"


def _cited(generations: Sequence[int]) -> str:
    return f" ({cite(generations)})" if generations else ""


def plural(count: int, noun: str) -> str:
    """`1 program`, `3 programs`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def listed(parts: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else "none"
