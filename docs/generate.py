"""Writes the parts of the documentation that come from the code: `python docs/generate.py [--check]`.

A part stands between the lines `<!-- begin: KIND ... -->` and `<!-- end -->`. Kinds: `source FILE FUNCTION` (the source
of a function), `file FILE` (a whole file), `configuration` (every key, from its declaration), `events` (every event
of the journal, from its class), `table TASK` and
`families TASK` (what `docs/tables.py` measured), `records TASK` (published answers, judged again).
"""

import argparse
import ast
import re
import sys
from collections.abc import Callable
from pathlib import Path

import task_table

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
PAGES = [*sorted(DOCS.glob("*.md")), ROOT / "programs" / "README.md"]
_IN_EVERY_EVENT = ("event", "seq", "t", "__pydantic_config__")
PART = re.compile(r"(<!-- begin: ([^\n]*?) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def source(file: str, function: str) -> str:
    """The source of a top-level function."""
    text = (ROOT / file).read_text(encoding="utf-8")
    node = next(node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef) and node.name == function)
    return f"```python\n{ast.get_source_segment(text, node)}\n```\n"


def file(name: str) -> str:
    """A whole file."""
    language = {".py": "python", ".yaml": "yaml", ".json": "json"}[Path(name).suffix]
    return f"```{language}\n{(ROOT / name).read_text(encoding='utf-8')}```\n"


def configuration() -> str:
    """Every key, its default and its meaning."""
    from evolve.core.config import ModelConfig, table

    lines = ["| key | default | meaning |", "|---|---|---|"]
    lines += [f"| `{key}` | {default} | {meaning} |" for key, default, meaning in table()]
    lines += ["", "Each entry of `models`:", "", "| key | default | meaning |", "|---|---|---|"]
    lines += [f"| `{key}` | {default} | {meaning} |" for key, default, meaning in table(ModelConfig)]
    return "\n".join(lines) + "\n"


def events() -> str:
    """Every event of the journal with its fields and their meanings, a section each, from the event classes."""
    tree = ast.parse((ROOT / "evolve" / "archive" / "events.py").read_text(encoding="utf-8"))
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    sections = []
    for node in classes.values():
        fields, bases = _fields(node), node.bases
        while bases and isinstance(bases[0], ast.Name) and (base := classes.get(bases[0].id)) is not None:
            fields, bases = [*_fields(base), *fields], base.bases
        names = [statement.value for field, statement, _ in fields if field == "event"]
        if names:
            sections.append(_event_section(ast.literal_eval(names[0] or ast.Constant(None)), node, fields))
    return "\n".join(sections)


def _event_section(name: str, node: ast.ClassDef, fields: list[tuple[str, ast.AnnAssign, str]]) -> str:
    """When an event is written, the names of its fields, and the meaning of those whose name does not say enough."""
    names = ", ".join(_field(field, at) for field, at, _ in fields if field not in _IN_EVERY_EVENT)
    lines = [f"### `{name}`", "", " ".join((ast.get_docstring(node) or "").split()), "", f"Fields: {names}."]
    meanings = [f"- `{field}`: {meaning}" for field, _, meaning in fields if meaning]
    if meanings:
        lines += ["", *meanings]
    return "\n".join(lines) + "\n"


def _fields(node: ast.ClassDef) -> list[tuple[str, ast.AnnAssign, str]]:
    """The fields that a class declares, each with its meaning, or "" if it states none."""
    fields: list[tuple[str, ast.AnnAssign, str]] = []
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            fields.append((statement.target.id, statement, ""))
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant) and fields:
            fields[-1] = (*fields[-1][:2], " ".join(str(statement.value.value).split()))
    return fields


def _field(name: str, field: ast.AnnAssign) -> str:
    return f"`{name}`" if field.value is None or isinstance(field.value, ast.Call) else f"`{name}`?"


def records(task: str) -> str:
    """The published answers to a task, judged again."""
    from records import table

    return table(task)


def written(text: str) -> str:
    """The page with its parts as the code is now."""

    def part(match: re.Match[str]) -> str:
        kind, *words = match[2].split()
        return f"{match[1]}{KINDS[kind](*words)}{match[4]}"

    return PART.sub(part, text)


KINDS: dict[str, Callable[..., str]] = {
    "source": source,
    "file": file,
    "configuration": configuration,
    "events": events,
    "table": task_table.drawn,
    "families": task_table.families,
    "records": records,
}


def write(*, check: bool) -> list[str]:
    """Write the pages that are out of date, unless this is a `check`; returns their names."""
    stale = []
    for page in PAGES:
        before = page.read_text(encoding="utf-8")
        after = written(before)
        if after != before:
            stale.append(str(page.relative_to(ROOT)))
            if not check:
                page.write_text(after, encoding="utf-8")
    return stale


def main() -> int:
    """Write the pages, or (--check) name those that differ from the code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if a page is out of date")
    check = parser.parse_args().check
    stale = write(check=check)
    if check and stale:
        sys.stdout.write(f"out of date: {', '.join(stale)} (make docs)\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    raise SystemExit(main())
