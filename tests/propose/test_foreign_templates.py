"""A template that somebody else wrote fills in text, and reaches nothing else."""

from pathlib import Path

import pytest

from evaluator.task_files import load_task
from evolve.core.errors import InputError
from evolve.propose.prompts import Prompts


def _fill(folder: Path, template: str) -> str:
    (folder / "diff.j2").write_text(template)
    task = load_task("placement")
    return Prompts(task=task, suite=task.suite(), folder=folder, max_tokens=32_000).fill("diff.j2", names=["a", "b"])


@pytest.mark.parametrize(
    "template",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ cycler.__init__.__globals__.os.system('touch HERE') }}",
        "{{ task.folder.joinpath('HERE').write_text('evil') }}",
        "{{ task.initial.read_text() }}",
        "{{ task.suite('adrs') }}",
        "{{ names.append('c') }}",
        "{% for i in range(10**9) %}x{% endfor %}",
        "{{ 'a' * 10**10 }}",
        "{{ 9 ** 999999999 }}",
        "{{ 1 // 0 }}",
        "{{ nobody }}",
        "{% macro again() %}{{ again() }}{% endmacro %}{{ again() }}",
    ],
)
def test_a_template_that_reaches_out_is_a_sentence_with_its_file(tmp_path, template) -> None:
    with pytest.raises(InputError, match=r"diff\.j2") as caught:
        _fill(tmp_path, template.replace("HERE", str(tmp_path / "evil")))
    assert not (tmp_path / "evil").exists()
    assert str(caught.value).isprintable()


def test_an_honest_template_reads_values_and_uses_what_jinja_has(tmp_path) -> None:
    template = "{% macro m(x) %}<{{ x }}>{% endmacro %}{% for n in names %}{{ m(n.upper()) }}{{ loop.cycle(1, 2) }}"
    assert _fill(tmp_path, template + "{% endfor %}{{ 2 * 3 }} {{ task.entry_point }}").startswith("<A>1<B>26 ")
