"""Insights reports of a scripted model: some of what they claim is wrong."""

SUMMARY = """**Program Name: A Guess with Steps**
- **Implementation**: It adds the steps taken so far to the number.
- **Feedback**: A highly effective idea, for a perfect score of 38.38.
"""
SUMMARIES = "\n".join(f"## Generation {generation}\n{SUMMARY}" for generation in range(1, 200))
INSIGHTS = """## Successful Algorithmic Patterns
- **Steps down**: every step down gained, the first [gen 0 > gen 1].
- **No offset**: [gen 5] is a breakthrough with a combined score of 38.38.
- **Miracles**: [gen 99] found the answer.

## Ineffective Approaches
- **Steps up**: they lose.

## Implementation Insights
- Round {0} of insights: one step a patch is enough.

## Performance Analysis
- The scores rise with every step down, up to [gen 6].

## Recommendations
1. **Idea A of round {0}**: a longer step.
2. **Idea B of round {0}**: a shorter step.
"""
ROUNDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def a_meta(number: int) -> dict[str, str]:
    word = ROUNDS[number - 1]
    return {
        "summaries": SUMMARIES,
        "insights": INSIGHTS.format(word),
    }
