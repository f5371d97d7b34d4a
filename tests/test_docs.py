"""Claims about the documentation: what comes from the code is as the code is, and what it names is there."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
OTHERS = ["README.md", "CONTRIBUTING.md", "programs/README.md"]
PAGES = [*sorted((ROOT / "docs").glob("*.md")), *(ROOT / page for page in OTHERS)]


def test_the_parts_that_come_from_the_code_are_up_to_date() -> None:
    ran = subprocess.run(
        [sys.executable, ROOT / "docs" / "generate.py", "--check"], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_every_file_that_a_page_names_is_there(page: Path) -> None:
    text = re.sub(r"^(```.*?^```|<!-- begin.*?<!-- end -->)", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    links = [link for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text) if "://" not in link]
    paths = re.findall(r"`((?:evolve|evaluator|programs|prompts|tests|docs)/[\w./-]+)`", text)
    missing = [link for link in links if not (page.parent / link).exists()]
    missing += [path for path in paths if not (ROOT / path).exists()]
    assert missing == []


def test_no_message_names_a_page_that_an_installed_package_does_not_have() -> None:
    named = []
    for package in ("evolve", "evaluator"):
        for path in sorted((ROOT / package).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            if "docs/" not in text:
                continue
            tree = ast.parse(text)
            documents = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
            for node in ast.walk(tree):
                said = isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents
                if said and "docs/" in node.value:
                    named.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert named == []


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 130


def test_every_event_of_the_journal_is_documented() -> None:
    from evolve.archive.events import EVENTS

    page = (ROOT / "docs" / "archive.md").read_text(encoding="utf-8")
    table = page.partition("## Events")[2].partition("## ")[0]
    named = {
        name for row in table.splitlines() if row.startswith("|") for name in re.findall(r"`(\w+)`", row.split("|")[1])
    }
    assert named - {"event"} == set(EVENTS)
