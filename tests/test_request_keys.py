"""The keys of a run's requests: their text is what stands in the journal, and only such a text is one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.core.completion import MetaKey, MetaQuestion, MetaStep, PatchKey, RequestKey, meta_key, request_key

COUNTS = st.integers(0, 999_999_999)
QUESTIONS = st.builds(MetaQuestion, step=st.sampled_from(MetaStep), part=COUNTS, attempt=COUNTS)
KEYS = st.builds(PatchKey, COUNTS, COUNTS) | st.builds(
    MetaKey, round=COUNTS, closing=st.none() | COUNTS, question=QUESTIONS
)


@given(KEYS)
def test_a_key_is_read_back_from_its_text(key: RequestKey) -> None:
    assert request_key(str(key)) == key


def test_the_text_is_that_of_the_journal() -> None:
    assert str(PatchKey(12, 1)) == "patch/12/1"
    summaries = MetaQuestion(step=MetaStep.SUMMARIES, part=2)
    assert str(MetaKey(round=3, question=summaries)) == "meta/3/summaries/2/0"
    closing = MetaKey(round=3, closing=30, question=MetaQuestion(step=MetaStep.INSIGHTS))
    assert str(closing) == "meta/3_closing_30/insights/1/0"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "patch/1",
        "patch/01/0",
        "patch/1_0/0",
        "patch/-1/0",
        "patch/1/0\n",
        "patch/1/0/0",
        "patch/9999999999/0",
        "meta/1/summaries",
        "meta/1/insights/3",
        "meta/1/unheard",
        "meta/1_closing_/insights/1/0",
        "meta/\u0661/insights/1/0",
    ],
)
def test_another_text_is_no_key(text: str) -> None:
    with pytest.raises(ValueError, match="not the key of a request"):
        request_key(text)


def test_the_key_of_a_patch_is_none_of_the_meta_summarizer() -> None:
    assert meta_key("meta/1/insights/1/0") == request_key("meta/1/insights/1/0")
    with pytest.raises(ValueError, match="patch/1/0"):
        meta_key("patch/1/0")
