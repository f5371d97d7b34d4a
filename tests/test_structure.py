"""The code keeps its shape: imports run one way, start-up stays light, functions stay simple."""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

import evolve
from evolve.cli.arguments import COMMANDS

ROOT = Path(__file__).resolve().parent.parent

STRUCTURE = (ROOT / "docs" / "structure.md").read_text(encoding="utf-8")
# Lower may never import higher: the table of the documentation is the one that holds.
FLOORS = {
    module: int(found[1])
    for found in re.finditer(r"^\| (\d+) \| (.*?) \|", STRUCTURE, re.MULTILINE)
    for module in re.findall(r"`([\w.]+)`", found[2])
}

# Each third-party package has one importer, or these.
IMPORTERS = {
    "openai": {"evolve.propose.attempt", "evolve.propose.reply"},
    "pydantic": {
        "evaluator.input_files",
        "evaluator.task_yaml",
        "evolve.archive.events",
        "evolve.archive.reports",
        "evolve.core.config",
        "evolve.apps.experiment.plan",
        "evolve.apps.importing.settings",
        "evolve.apps.placing.cluster",
        "evolve.core.prices",
        "evolve.propose.scripted",
    },
    "yaml": {"evaluator.yaml_file"},
    "numpy": {"evaluator.tasks.placement.make_suites", "evaluator.tasks.placement.repack"},
    "rich": {"evolve.cli.drawing", "evolve.cli.live", "evolve.cli.output"},
}


def modules() -> Iterator[tuple[str, Path]]:
    for package in ("evaluator", "evolve"):
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """The syntax tree of a module, its own node first. Many tests ask, and a module is parsed once."""
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


@cache
def imports(path: Path) -> tuple[str, ...]:
    """What a module imports."""
    names: list[str] = []
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            assert node.module is not None
            names.append(node.module)
    return tuple(names)


def package(module: str) -> str:
    """The row of the table that holds a module."""
    while module not in FLOORS:
        module = module.rpartition(".")[0]
    return module


def floor(module: str) -> int:
    return FLOORS[package(module)]


def test_imports_run_downward_only() -> None:
    wrong = [
        f"{module} (floor {floor(module)}) imports {name} (floor {floor(name)})"
        for module, path in modules()
        for name in imports(path)
        if name.split(".")[0] in ("evolve", "evaluator") and floor(name) > floor(module)
    ]
    assert wrong == []


@pytest.mark.parametrize("unit", [str, package], ids=["modules", "packages"])
def test_there_is_no_circle_of_imports(unit: Callable[[str], str]) -> None:
    paths, done = dict(modules()), set[str]()
    graph: dict[str, set[str]] = {unit(module): set() for module in paths}
    for module, path in paths.items():
        graph[unit(module)] |= {unit(name) for name in imports(path) if name in paths} - {unit(module)}

    def visit(node: str, way: tuple[str, ...]) -> None:
        assert node not in way, " -> ".join([*way, node])
        if node not in done:
            for name in sorted(graph[node]):
                visit(name, (*way, node))
            done.add(node)

    for node in graph:
        visit(node, ())


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


def test_the_floors_are_few_and_every_module_has_one() -> None:
    assert len(set(FLOORS.values())) <= 10
    tops = {path.stem if path.is_file() else path.name for path in (ROOT / "evolve").iterdir()}
    named = {module.split(".")[1] for module in FLOORS if module.startswith("evolve.")}
    assert tops - {"__init__", "py", "__pycache__"} == named
    loose = {path.stem for path in (ROOT / "evolve").glob("*.py")} - {"__init__", "__main__"}
    assert len(loose) <= 8


def nodes() -> Iterator[tuple[str, ast.AST]]:
    for module, path in modules():
        for node in nodes_of(path):
            yield module, node


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """How many a caller may give."""
    given = function.args
    positional = [one.arg for one in (*given.posonlyargs, *given.args)]
    bound = positional[:1] in (["self"], ["cls"])
    return len(positional) - bound + len(given.kwonlyargs) + (given.vararg is not None) + (given.kwarg is not None)


# Their arguments include the keys of the configuration.
PUBLIC = {f"evolve.api.{name}" for name in evolve.__all__}


def test_a_function_has_at_most_seven_parameters() -> None:
    many = {
        f"{module}.{node.name}"
        for module, node in nodes()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and parameters(node) > 7
    }
    assert many - PUBLIC == set()


def test_parameters_are_counted_as_a_caller_sees_them() -> None:
    def count(source: str) -> int:
        function = next(node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef))
        return parameters(function)

    assert count("def f(a, /, b, *c, d=1, **e): ...") == 5
    assert count("class C:\n    def f(self, a, *, b): ...") == 2
    assert count("def f(): ...") == 0


# Values, errors, events and the reader of an archive: what every package speaks of.
SHARED = {
    "evaluator.errors",
    "evaluator.evaluation",
    "evaluator.program_files",
    "evaluator.task",
    "evaluator.untrusted",
    "evolve.archive.events",
    "evolve.archive.reader",
    "evolve.archive.records",
    "evolve.core.completion",
    "evolve.core.config",
    "evolve.core.errors",
    "evolve.core.program",
}


def test_no_module_but_shared_values_is_imported_everywhere() -> None:
    importers: dict[str, set[str]] = {}
    for module, path in modules():
        for name in imports(path):
            importers.setdefault(name, set()).add(module)
    ours = dict(modules())
    assert {name for name, found in importers.items() if name in ours and len(found) > 30} == SHARED


def test_a_task_is_used_through_its_interface() -> None:
    """The parts of a task, such as `evaluator.tasks.placement.judge`, are imported by that task alone."""
    parts = [
        f"{module} imports {name}"
        for module, path in modules()
        if module.startswith("evolve")
        for name in imports(path)
        if name.startswith("evaluator.tasks.") and not name.endswith(".interface")
    ]
    assert parts == []


MOST_SPLATS = 60


def splats(node: ast.AST) -> int:
    """How many `**` stand in a call or in the display of a dict."""
    if isinstance(node, ast.Call):
        return sum(keyword.arg is None for keyword in node.keywords)
    return sum(key is None for key in node.keys) if isinstance(node, ast.Dict) else 0


def test_values_are_not_handed_on_as_dicts() -> None:
    """A function of ours is given values by name, which the type checker sees."""
    assert sum(splats(node) for _, node in nodes()) <= MOST_SPLATS
    counted = [splats(ast.parse(text, mode="eval").body) for text in ("f(**a, **b)", "{**a, 1: 2}", "f(a=1)")]
    assert counted == [2, 1, 0]


def test_no_two_classes_have_one_name() -> None:
    found: dict[str, list[str]] = {}
    for module, path in modules():
        tree = nodes_of(path)[0]
        assert isinstance(tree, ast.Module)
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name.lstrip("_"), []).append(module)
    assert {name: where for name, where in found.items() if len(where) > 1} == {}


def texts(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """The strings in a module that are not documentation."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        id(node.body[0].value)
        for node in nodes
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


def test_no_command_is_spelt_out_by_hand() -> None:
    """Whatever command is printed can be pasted: `evolve/core/invocation.py` makes it."""
    spelt = re.compile(rf"\bevolve ({'|'.join(COMMANDS)}|COMMAND)\b")
    wrong = [
        f"{module}: {text}"
        for module, path in modules()
        if module.startswith("evolve")
        for text in texts(nodes_of(path))
        if spelt.search(text)
    ]
    assert wrong == []
    assert list(texts(list(ast.walk(ast.parse('"""evolve run"""\nx = "evolve run"\n'))))) == ["evolve run"]


HEAVY = (
    "openai",
    "git",
    "rich",
    "numpy",
    "pydantic",
    "yaml",
    "jinja2",
    "starlette",
    "uvicorn",
    "pyflakes",
    "evaluator.evaluator",
)


@pytest.mark.parametrize(
    ("code", "heavy"),
    [
        ("import evolve", HEAVY),
        ("import evolve.cli.main; evolve.cli.main._parse(['list'])", HEAVY),
        ("import evolve.cli.run", ("distributed", "asyncio", "evolve.cluster")),  # a run without a cluster
    ],
)
def test_start_up_loads_nothing_heavy(code: str, heavy: Sequence[str]) -> None:
    script = (
        f"import sys\ntry:\n    {code}\nexcept SystemExit:\n    pass\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, env={**os.environ}, check=True
    )
    assert ran.stdout.splitlines()[-1] == "[]"


# What the values of a section are called where they are read.
SECTIONS = {
    "Config": {"config"},
    "ModelConfig": {"model", "settings", "_settings"},
    "SearchConfig": {"config", "search"},
    "KindWeights": {"weights"},
}


def readers(section: str, key: str, nodes: Sequence[ast.AST], *, own: bool) -> list[int]:
    """The lines of a module in which a key of a section is read; in the `own` module of the sections, only what one of
    its own properties reads counts."""
    names = {"self"} if own else SECTIONS[section]
    if own:
        declared = next(node for node in nodes if isinstance(node, ast.ClassDef) and node.name == section)
        nodes = list(ast.walk(declared))
    return [
        node.lineno
        for node in nodes
        if isinstance(node, ast.Attribute)
        and node.attr == key
        and isinstance(node.ctx, ast.Load)
        and (node.value.id if isinstance(node.value, ast.Name) else getattr(node.value, "attr", None)) in names
    ]


def keys_of_sections() -> list[tuple[str, str]]:
    from evolve.core import config

    return [
        (section, key)
        for section in SECTIONS
        for key in getattr(config, section).model_fields
        if key not in ("models", "kinds")  # sections themselves
    ]


def test_every_configuration_key_is_read_somewhere() -> None:
    attributes = {
        module: [node for node in nodes_of(path) if isinstance(node, ast.Attribute | ast.ClassDef)]
        for module, path in modules()
        if module.startswith("evolve.") and module != "evolve.core.settings"
    }
    never = [
        f"{section}.{key}"
        for section, key in keys_of_sections()
        if not any(
            readers(section, key, nodes, own=module == "evolve.core.config") for module, nodes in attributes.items()
        )
    ]
    assert never == [], "declared and never read"


def test_a_key_that_only_looks_like_one_that_is_read_is_not_counted() -> None:
    nodes = list(ast.walk(ast.parse("def f(config, other):\n    return config.seed, other.patience\n")))
    assert readers("Config", "seed", nodes, own=False) == [2]
    assert readers("Config", "patience", nodes, own=False) == []
    written = list(ast.walk(ast.parse("def f(config):\n    config.seed = 1\n")))
    assert readers("Config", "seed", written, own=False) == []
