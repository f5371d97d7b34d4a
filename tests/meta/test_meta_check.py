"""No number in a document contradicts the record, and nothing that failed is praised; and no false accusations."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.evaluation import Outcome
from evolve.archive.records import Status
from evolve.meta.check import check_document, check_recommendations, check_scratchpad, check_summary
from evolve.meta.document import SECTIONS, Document, ProgramSummary, Scratchpad
from evolve.meta.evidence import Evidence
from evolve.meta.facts import Fact
from evolve.meta.record import Record
from evolve.program import PatchKind
from tests.meta.a_run import a_run, best_source

FACTS = a_run()
RECORD = Record(Evidence(FACTS), FACTS)


def checked(text: str) -> str:
    """A text as it stands under "Implementation Insights" after the check."""
    return check_scratchpad(Scratchpad(insights=text), RECORD)[0].insights


@pytest.mark.parametrize(
    ("text", "struck"),
    [
        ("It reached 38.38.", "38.38"),  # quarantined: no score of the record
        ("It reached 27.48 at once.", "27.48"),
        ("a combined score of 95.04", "95.04"),
        ("**Tier (~27.48)**: the rest", "27.48"),
        ("The score was `27.48` here", "`27.48`"),
        ("a score of $27.48$ here", "$27.48$"),
        ("from 26.23 to 27.48", "27.48"),
        ("scores 26.24-27.48", "27.48"),
        ("a score of 31", "31"),
        ("score: 26.4", "26.4"),
        ("a gain of 0.91", "0.91"),
        ("improved the score by 0.91", "0.91"),
        ("Achieved 0.87 success rate", "0.87"),
        ("success rate of 84%", "84%"),
        ("with 84 percent success", "84 percent"),
        ("generation 4 (score 26.25) is good", "26.25"),
        ("Gen 4 achieved a combined score of 26.23", "26.23"),
        ("the top score of 26.25 (Gen 2, Gen 4)", "26.25"),
        ("Generation 4, 26.25", "26.25"),
        ("as in generation 77", "77"),
        ("Generations 2, 4 and 77 agree", "77"),
        ("executes in 0.035s", "0.035s"),
        ("The runtime is 0.03 seconds", "0.03 seconds"),
    ],
)
def test_a_number_that_was_never_measured_is_struck(text: str, struck: str) -> None:
    result = checked(text)
    assert f"~~{struck}~~ [" in result
    assert result.count("~~") == 2
    start, end = result.index("~~"), result.index("]") + 1
    assert (result[:start] + struck + result[end:]).replace("~", "") == text.replace("~", "")


@pytest.mark.parametrize(
    "text",
    [
        "Cool by `0.95` and accept with 0.99 as before; alpha = 0.05.",
        "Use `if gap < 26.99 * x:` in code",
        "the formula $K \\cdot 26.99 + 1$",
        "```\nbest = 38.38\n```",
        "Generation 2 scored 26.2332, generation 3 26.2101.",
        "The score of 26.23 is shared; 26.248 is the best; 26 is near.",
        "a score of 26.2",
        "Generation 7 (26.25) leads; the ceiling is 26.256.",
        "a plateau at 26.24 (Gen 4, 9, 10)",
        "gained +4.34 in one try, lost 0.0231 in another, a gain of 0.007",
        "improved the score by 0.02 over the plateau",  # 26.25 - 26.23, as a reader would count
        "100% success rate, success rate of 1.0",
        "mean change +0.5975 over 8 programs",
        "instance 17 at 0.0412 against 0.0391",
        "Generation 4, 60 bisections and 3 kicks",
        "Limit the run to 0.5 s of execution time at most.",
        "Python 3.11, version 26.99.1, v26.99, 26.99 GB, 26.99x, 30.5 ms apart",
        "Raise KICK_ITERATIONS from 100 to 400, by 25% or so; a temperature of 0.35 could do",
        "Generations 1-4 and 7 gained",
        "in 2 of 14 programs; 5-10 seeds; move 3 models",
    ],
)
def test_constants_and_measured_numbers_are_left_alone(text: str) -> None:
    assert checked(text) == text


@given(
    st.sampled_from([f for f in FACTS if f.correct]), st.integers(2, 6), st.sampled_from(["", "about ", "a score of "])
)
def test_a_recorded_score_may_be_quoted_at_any_precision(fact: Fact, decimals: int, before: str) -> None:
    text = f"It has {before}{fact.combined_score:.{decimals}f} (generation {fact.generation})."
    assert checked(text) == text


@given(st.decimals(min_value=11, max_value=200, places=4))
def test_no_invented_score_survives(score: object) -> None:
    value = float(str(score))
    if RECORD.holds(value, 4):
        return
    assert f"~~{score}~~ [not in the record]" in checked(f"The result is {score}.").replace(
        "generation 13 is quarantined", "not in the record"
    )


@pytest.mark.parametrize(
    ("text", "correction"),
    [
        ("Generation 5 is a breakthrough.", "generation 5 failed: cpu_limit"),
        ("Build on the success of Gen 11, whose kick is highly effective.", "generation 11 failed: cpu_limit"),
        ("Generations 5 and 11 achieved strong results.", "generations 5 and 11 failed: cpu_limit"),
        ("Generation 13 outperforms all others.", "generation 13 is quarantined"),
        ("`add_kick_ruin_worst` works well.", "generation 11 failed: cpu_limit"),
        ("Generation 14 found the best crossover.", "generation 14 became no program: refused"),
        ("Unlike the failed generation 5, generation 11 is excellent.", "generation 11 failed: cpu_limit"),
        ("Generation 5 is excellent.\nIt has no errors.", "generation 5 failed: cpu_limit"),
        (
            "Generations 4-7 improved steadily.",
            "generation 5 failed: cpu_limit; generation 6 became no program: duplicate",
        ),
        ("Generation 5 is great [correction: generation 5 is fine]", "generation 5 failed: cpu_limit"),
    ],
)
def test_praise_of_a_failure_is_corrected(text: str, correction: str) -> None:
    assert checked(text) == f"{text} [correction: {correction}]"


@pytest.mark.parametrize(
    "text",
    [
        "Generation 7 is the best and highly effective.",
        "Generation 5 failed although its idea is strong.",
        "Generation 11 tried to improve on 7, but exceeded its CPU limit: a timeout.",
        "Generation 5 uses Best-Fit packing.",
        "Generation 5 was cut off; generation 7 is excellent.",
        "Generations 5 and 11 crashed, whereas generation 7 achieved 26.248.",
    ],
)
def test_what_is_said_rightly_of_failures_and_successes_stands(text: str) -> None:
    assert checked(text) == text


def summary(generation: int, **texts: str) -> ProgramSummary:
    fields = {"name": "A Name", "implementation": "It packs.", "performance": "", "feedback": "It packs."} | texts
    return ProgramSummary(generation=generation, patch_name="forged", correct=True, **fields)


def test_the_performance_of_a_program_that_failed_is_told_by_code() -> None:
    result, notes = check_summary(
        summary(11, performance="A perfect score of 26.25 with 100% success.", feedback="A highly effective kick."),
        RECORD,
    )
    assert result.performance == (
        "Failed (cpu_limit: instance 4: more than 5 s of CPU). Success rate 0.50. It is not correct, so its score "
        "ranks below every correct program."
    )
    assert result.feedback == "A highly effective kick. [correction: generation 11 failed: cpu_limit]"
    assert (result.patch_name, result.correct) == ("add_kick_ruin_worst", False)
    assert notes == (
        "Generation 11, Performance: the record's own statement stands instead of 'A perfect score of 26.25 with 100% "
        "success.'",
        "Generation 11, Feedback: praise, but generation 11 failed: cpu_limit",
    )
    fraud, _ = check_summary(summary(13, performance="38.38, a record."), RECORD)
    assert fraud.performance == "Not a result: quarantined: instance 3 beats its proven bound."


def test_a_summary_quotes_its_own_score_or_says_whose() -> None:
    other, _ = check_summary(summary(1, performance="Achieved a combined score of 26.25."), RECORD)
    assert other.performance == (
        "Combined score 22.338523. Achieved a combined score of ~~26.25~~ [this program scored 22.338523]."
    )
    for said in (
        "Scored 22.34, below the best of 26.25.",
        "22.3385, while generation 7 has 26.248",
        "22.34, up 0.45 from 21.89",
    ):
        assert check_summary(summary(1, performance=said), RECORD)[0].performance == said


def test_a_failure_among_the_successful_patterns_is_corrected_even_without_praise() -> None:
    pad, notes = check_scratchpad(
        Scratchpad(
            patterns="- **Kicks**: see generation 11.\n- **Swaps**: generation 7.", ineffective="- See generation 11."
        ),
        RECORD,
    )
    assert pad.patterns == (
        "- **Kicks**: see generation 11. [correction: generation 11 failed: cpu_limit]\n- **Swaps**: generation 7."
    )
    assert pad.ineffective == "- See generation 11."
    assert notes == ("Successful Algorithmic Patterns: praise, but generation 11 failed: cpu_limit",)


texts = st.lists(
    st.sampled_from(
        ["Generation 5", "Gens 4-9,", "is the best", "scored 38.38", "26.25", "score of", "`26.99`", "failed.", "\n- ",
         "```\n", "~~", "84% success", "(Gen 13)", "0.03s run", "add_kick_ruin_worst", "$", "[correction: ", "]",
         "; but "]
    )
    | st.text(max_size=6),
    max_size=12,
).map(" ".join)  # fmt: skip


@given(texts, texts)
def test_checking_twice_corrects_nothing_more(first: str, second: str) -> None:
    document = Document(
        summaries=(summary(11, feedback=first), summary(7, performance=second)),
        scratchpad=Scratchpad(patterns=first, ineffective=second, insights=first + second),
        recommendations=(first, second),
    )
    once, _ = check_document(document, RECORD)
    twice, _ = check_document(once, RECORD)
    assert twice == once


def test_where_scores_are_small_only_numbers_tied_to_a_score_word_are_scores() -> None:
    fact = Fact(
        generation=0, status=Status.EVALUATED, kind=PatchKind.INITIAL, model="m", outcome=Outcome.OK, correct=True,
        combined_score=0.83, metrics={"accuracy": 0.83},
    )  # fmt: skip
    record = Record(Evidence([fact]))
    said = "A learning rate of 0.97 keeps the score at 0.83, not a score of 0.97."
    assert check_recommendations((said,), record)[0] == (
        "A learning rate of 0.97 keeps the score at 0.83, not a score of ~~0.97~~ [not in the record].",
    )


def test_a_constant_of_the_program_is_no_score_unless_it_is_called_one() -> None:
    facts = [*FACTS]
    source = best_source(facts) + "\nLIMIT = 79.25\n"
    record = Record(
        Evidence(facts), [Fact(generation=7, status=Status.EVALUATED, kind=PatchKind.DIFF, model="m", source=source)]
    )
    assert check_recommendations(("Raise 79.25 a little.",), record)[0] == ("Raise 79.25 a little.",)
    assert "~~79.25~~" in check_recommendations(("It scored 79.25.",), record)[0][0]


def test_the_rule_is_for_every_section() -> None:
    bodies = {"patterns": "27.48", "ineffective": "27.48", "insights": "27.48", "performance": "27.48"}
    _, notes = check_scratchpad(Scratchpad(**bodies), RECORD)
    assert notes == tuple(f"{title}: 27.48: not in the record" for title in SECTIONS)
