"""The document without a model: every sentence computed from the evidence, every number traceable to a program."""

from collections.abc import Sequence

from evolve.meta.advice import recommendations
from evolve.meta.anatomy import Anatomy, anatomy
from evolve.meta.check import check_document, failure_line
from evolve.meta.document import Document, ProgramSummary, clean
from evolve.meta.evidence import SAME, Evidence, Group, change_text, cite, gap_text, score_text
from evolve.meta.facts import Fact
from evolve.meta.insights import scratchpad
from evolve.meta.record import Record
from evolve.meta.wording import code, feature, listed, origin, reason, tally, title

_REMEDIES = {
    "cpu_limit": "Bound its loops by a count of steps before anything is built on it.",
    "timeout": "Bound its loops by a count of steps before anything is built on it.",
    "oom": "It has to hold less at once before anything is built on it.",
    "load_error": "The idea itself has not been tried: the source never ran.",
    "exception": "The idea itself has not been judged: the error has to be mended first.",
    "invalid_output": "What it returns is not in the form that the task asks for.",
    "infeasible": "Its answers break a constraint: it has to check what it changes before it keeps it.",
    "nondeterministic": "Every random choice has to come from a seeded generator.",
}


def offline_document(
    evidence: Evidence, new: Sequence[Fact], *, best_source: str = "", vocabulary: Sequence[str] = ()
) -> Document:
    """The document over the programs of `new`, and over everything in `evidence`.

    `best_source` is the best program's source; `vocabulary` names the operators that the task offers. Reasons that
    patches carry are quoted, so the whole is checked like a model's text.
    """
    best = anatomy(best_source, vocabulary)
    document = Document(
        summaries=tuple(code_summary(fact, evidence, vocabulary) for fact in new if fact.is_program),
        scratchpad=scratchpad(evidence, best),
        recommendations=recommendations(evidence, best, vocabulary),
    )
    return clean(check_document(document, Record(evidence, new))[0])


def code_summary(fact: Fact, evidence: Evidence, vocabulary: Sequence[str] = ()) -> ProgramSummary:
    """The summary of one program, computed from the evidence; not checked yet, though it quotes the patch's reason."""
    parts = anatomy(fact.source, vocabulary)
    return ProgramSummary(
        generation=fact.generation,
        patch_name=fact.patch_name,
        correct=fact.correct,
        name=title(fact),
        implementation=_implementation(fact, parts),
        performance=_performance(fact, evidence) if fact.correct else failure_line(fact),
        feedback=_feedback(fact, evidence),
    )


def _implementation(fact: Fact, parts: Anatomy) -> str:
    said = (
        reason(fact.description) or reason(parts.about) if fact.parent_generation is None else reason(fact.description)
    )
    text = f"{origin(fact)}. {said}" if said else f"{origin(fact)}."
    if parts.operators:
        text += f" Operators in use: {listed([code(name) for name in parts.operators])}."
    return text


def _performance(fact: Fact, evidence: Evidence) -> str:
    if fact.combined_score is None:
        return "Correct, without a score."
    text = f"Combined score {score_text(fact.combined_score)}"
    if fact.change is not None and fact.parent_score is not None:
        if abs(fact.change) <= SAME:
            text += f", the same as its parent's (generation {fact.parent_generation})"
        else:
            text += (
                f", {change_text(fact.change)} against its parent's {score_text(fact.parent_score)} "
                f"(generation {fact.parent_generation})"
            )
    text += gap_text(fact) + "."
    if fact.generation in evidence.records and fact.parent_generation is not None:
        text += " The best of the run when it came."
    return text


def _feedback(fact: Fact, evidence: Evidence) -> str:
    if not fact.correct:
        return _failed(fact, evidence)
    if fact.parent_generation is None:
        return "The baseline that every change is measured against."
    judged = _judged(fact, evidence)
    known = _longest([evidence.by_feature[name] for name in fact.features if name in evidence.by_feature])
    if known is not None and known.compared > 1:
        judged += f" Over the run, {feature(known.name)} {tally(known)}."
    return judged


def _judged(fact: Fact, evidence: Evidence) -> str:
    best, change = evidence.best, fact.change
    if fact.repairs:
        return f"It mends generation {fact.parent_generation}, which had failed."
    if change is None or best is None or best.combined_score is None or fact.combined_score is None:
        return "It cannot be compared with its parent."
    if abs(change) <= SAME:
        return "On this suite the change decides nothing: what it adds is not reached, or finds nothing better."
    if change < 0:
        return f"A step back: keep generation {fact.parent_generation} instead, and look for what it lost."
    largest = max((group.best for group in evidence.by_kind.values() if group.best is not None), default=None)
    if largest is not None and largest[1] == fact.generation:
        text = "The largest single step of the run so far."
    elif fact.generation in evidence.records:
        text = "A step forward for the whole run."
    else:
        behind = change_text(best.combined_score - fact.combined_score).lstrip("+")
        return f"A gain on its parent that remains {behind} below the best (generation {best.generation})."
    if best.generation != fact.generation:
        text += f" Generation {best.generation} has gone further since."
    return text


def _failed(fact: Fact, evidence: Evidence) -> str:
    if fact.quarantine is not None:
        return "Nothing is to be learnt from its score; it is no parent for anything."
    name = "failed" if fact.outcome is None else fact.outcome.value
    text = _REMEDIES.get(name, "Nothing can be built on it before it runs through.")
    if fact.parent_correct and fact.parent_generation is not None:
        text = f"Its parent (generation {fact.parent_generation}) is correct, so the edit is what failed. " + text
    alike = [generation for generation in evidence.outcomes.get(name, ()) if generation != fact.generation]
    return f"{text} The same happened in {cite(alike)}." if alike else text


def _longest(groups: Sequence[Group]) -> Group | None:
    return max(groups, key=lambda group: group.compared, default=None)
