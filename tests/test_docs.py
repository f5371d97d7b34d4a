"""Claims about the documentation: what comes from the code is as the code is, and what it names is there."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MORE_PAGES = ["README.md", "CONTRIBUTING.md", "programs/README.md", "prompts/README.md"]
PAGES = [*sorted((ROOT / "docs").glob("*.md")), *(ROOT / page for page in MORE_PAGES)]


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
                is_text = isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents
                if is_text and "docs/" in node.value:
                    named.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert named == []


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 130


def test_every_event_of_the_journal_is_documented() -> None:
    from evolve.archive.events import EVENTS

    page = (ROOT / "docs" / "events.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^### `(\w+)`$", page, flags=re.M)) == set(EVENTS)


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_a_cell_of_a_table_has_at_most_20_words(page: Path) -> None:
    rows = [line.strip() for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    cells = [cell for row in rows for cell in row.strip("|").split(" | ")]
    assert [cell for cell in cells if len(cell.split()) > 20] == []


def test_the_index_lists_every_page_once() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    pages = {page.name for page in (ROOT / "docs").glob("*.md")} - {"README.md"}
    listed = [link for link in re.findall(r"\]\(([^)]+)\)", index) if "/" not in link]
    assert sorted(listed) == sorted(pages)


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_every_section_that_a_link_names_is_there(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]*)#([^)]+)\)", page.read_text(encoding="utf-8"))
    targets = [(page.parent / name if name else page, section) for name, section in links]
    assert [(str(target), section) for target, section in targets if section not in sections(target)] == []


def sections(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
