"""Writes the parts of the documentation that come from the code: `python docs/generate.py [--check]`.

A part stands between the lines `<!-- begin: KIND ... -->` and `<!-- end -->`. Kinds: `source FILE FUNCTION` (the source
of a function), `file FILE` (a whole file), `configuration` (every key, from its declaration), `table TASK` and
`families TASK` (what `docs/tables.py` measured).
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
    from evolve.config import ModelConfig, table

    lines = ["| key | default | meaning |", "|---|---|---|"]
    lines += [f"| `{key}` | {default} | {meaning} |" for key, default, meaning in table()]
    lines += ["", "Each entry of `models`:", "", "| key | default | meaning |", "|---|---|---|"]
    lines += [f"| `{key}` | {default} | {meaning} |" for key, default, meaning in table(ModelConfig)]
    return "\n".join(lines) + "\n"


def written(text: str) -> str:
    """The page with its parts made anew."""

    def part(found: re.Match[str]) -> str:
        kind, *words = found[2].split()
        return f"{found[1]}{KINDS[kind](*words)}{found[4]}"

    return PART.sub(part, text)


KINDS: dict[str, Callable[..., str]] = {
    "source": source,
    "file": file,
    "configuration": configuration,
    "table": task_table.drawn,
    "families": task_table.families,
}


def write(*, check: bool) -> list[str]:
    """Write the pages anew, unless this is a `check`; returns the names of those that were out of date."""
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
    """Write the pages, or (--check) say which are not as the code is."""
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
