"""The house keeps its shape: imports run one way, start-up stays light, no module grows without end."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# Lower may never import higher. `evaluator` knows nothing of evolution; what evolves stands on it.
FLOORS = {
    "evaluator": 0,
    "evolve.errors": 1,
    "evolve.program": 1,
    "evolve.config": 1,
    "evolve.usage": 1,
    "evolve.completion": 1,
    "evolve.files": 1,
    "evolve.invocation": 1,
    "evolve.settings": 1,
    "evolve.patch": 2,
    "evolve.archive": 3,
    "evolve.proposal": 4,
    "evolve.progress": 4,
    "evolve.meta": 4,
    "evolve.seams": 5,
    "evolve.search": 6,
    "evolve.propose": 6,
    "evolve.offline": 6,
    "evolve.run": 7,
    "evolve.review": 8,
    "evolve.doctor": 8,
    "evolve.api": 9,
    "evolve": 9,  # what `import evolve` offers, each part loaded when it is first asked for
    "evolve.cli": 10,
    "evolve.__main__": 11,
}
UPWARD = {("evolve.run", "evolve.api")}  # `evolve.run(...)`: the package calls the function of its name

# Each third-party package has one importer, or these.
IMPORTERS = {
    "git": {"evolve.archive.objects"},
    "pydantic": {"evolve.config"},
    "yaml": {"evaluator.yaml_file"},
    "numpy": {"evaluator.tasks.placement.make_suites", "evaluator.tasks.placement.repack"},
    "rich": {"evolve.cli.drawing", "evolve.cli.live", "evolve.cli.output"},
}


def modules() -> Iterator[tuple[str, Path]]:
    for package in ("evaluator", "evolve"):
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            assert node.module is not None
            yield node.module


def floor(module: str) -> int:
    while module not in FLOORS:
        module = module.rpartition(".")[0]
    return FLOORS[module]


def test_imports_run_downward_only() -> None:
    wrong = [
        f"{module} (floor {floor(module)}) imports {name} (floor {floor(name)})"
        for module, path in modules()
        for name in imports(path)
        if name.split(".")[0] in ("evolve", "evaluator")
        and floor(name) > floor(module)
        and (module, name) not in UPWARD
    ]
    assert wrong == []


def test_there_is_no_circle_of_imports() -> None:
    known = dict(modules())
    graph = {module: {name for name in imports(path) if name in known} for module, path in known.items()}
    done: set[str] = set()

    def visit(module: str, way: tuple[str, ...]) -> None:
        assert module not in way, " -> ".join([*way, module])
        if module not in done:
            for name in sorted(graph[module]):
                visit(name, (*way, module))
            done.add(module)

    for module in graph:
        visit(module, ())


def test_each_third_party_package_has_one_importer() -> None:
    found: dict[str, set[str]] = {}
    for module, path in modules():
        for name in imports(path):
            package = name.split(".")[0]
            if package not in sys.stdlib_module_names and package not in ("evolve", "evaluator"):
                found.setdefault(package, set()).add(module)
    for package, importers in found.items():
        allowed = IMPORTERS.get(package)
        assert len(importers) == 1 if allowed is None else importers <= allowed, f"{package}: {sorted(importers)}"


def test_no_module_is_larger_than_one_sitting() -> None:
    large = {module: n for module, path in modules() if (n := len(path.read_text().splitlines())) > 500}
    assert large == {}


@pytest.mark.parametrize("code", ["import evolve", "import evolve.cli.main; evolve.cli.main._parse([])"])
def test_start_up_loads_nothing_heavy(code: str) -> None:
    heavy = ("openai", "git", "rich", "numpy", "pydantic", "yaml", "jinja2", "evaluator.evaluator")
    script = (
        f"import sys\ntry:\n    {code}\nexcept SystemExit:\n    pass\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, env={**os.environ}, check=True
    )
    assert ran.stdout.strip() == "[]"


def test_every_configuration_key_is_read_somewhere() -> None:
    from evolve.config import keys

    text = "\n".join(path.read_text() for module, path in modules() if module != "evolve.config")
    for key in keys():
        assert f".{key.rsplit('.', 1)[-1]}" in text, f"{key} is never read"
