"""Prompts for programs in another language than Python, and for programs without markers."""

import dataclasses

import pytest

from evaluator.task_files import load_task
from evolve.core.program import PatchKind
from evolve.lang.languages import LANGUAGES, PYTHON, Language
from evolve.patch import apply_patch, parse_patch
from evolve.proposal import Request
from evolve.propose.prompts import KINDS, Prompts
from tests.builders import one_file
from tests.propose.prompting import REQUEST

TOURS = load_task("tours")
SOURCE = TOURS.initial.read_text(encoding="utf-8")
BARE = "int main(void)\n{\n    return 0;\n}\n"


def prompts_in(language: Language) -> Prompts:
    initial = TOURS.initial.with_suffix(language.suffixes[0])
    return Prompts(task=dataclasses.replace(TOURS, initial=initial), suite=TOURS.suite(), folder=None, max_tokens=10**6)


def request(kind: PatchKind, source: str, *, block_only: bool = False) -> Request:
    program = dataclasses.replace(REQUEST.parent.program, files=one_file(source))
    parent = dataclasses.replace(REQUEST.parent, program=program)
    return dataclasses.replace(REQUEST, kind=kind, parent=parent, inspirations=(parent,), block_only=block_only)


def example(prompt: str) -> str:
    return prompt[prompt.index("<NAME>") : prompt.index("\n\n- ", prompt.index("<NAME>"))]


@pytest.mark.parametrize("language", [one for one in LANGUAGES if one is not PYTHON], ids=lambda one: one.suffixes[0])
def test_a_prompt_speaks_of_the_language_at_hand_and_of_no_other(language: Language) -> None:
    start, end = language.comment("EVOLVE-BLOCK-START"), language.comment("EVOLVE-BLOCK-END")
    prompts = prompts_in(language)
    for kind in KINDS:
        for block_only in (False, True):
            source = f"fixed\n{start}\nmay change\n{end}\n"
            prompt = prompts.render(request(kind, source, block_only=block_only))
            assert "Python" not in prompt
            assert "`random`" not in prompt
            assert f"The program is {language.name}. Only the lines between `{start}` and `{end}` may change." in prompt
            assert f"```{language.fence}\n" in prompt
            shown = prompt[prompt.index("# The program to") :]
            assert f"{start}\nmay change\n{end}" in shown
            assert ("fixed\n" in shown) is not block_only


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("source", [SOURCE, BARE], ids=["marked", "bare"])
def test_the_example_is_read_as_a_patch_of_that_language(kind: PatchKind, source: str) -> None:
    prompt = prompts_in(LANGUAGES[1]).render(request(kind, source))
    patch = parse_patch(example(prompt), kind)
    assert patch.name == "short_snake_case"
    if kind in (PatchKind.FULL, PatchKind.CROSS):
        result = apply_patch(patch, source, LANGUAGES[1])
        assert ("#include <math.h>" in result) is (source is SOURCE)
        assert "in C" in result


@pytest.mark.parametrize("kind", KINDS)
def test_where_there_are_no_markers_nothing_is_said_of_them(kind: PatchKind) -> None:
    for block_only in (False, True):
        prompt = prompts_in(LANGUAGES[1]).render(request(kind, BARE, block_only=block_only))
        assert "EVOLVE-BLOCK" not in prompt
        assert "All of it may change." in prompt
        assert BARE in prompt
        assert "fixed" not in prompt
