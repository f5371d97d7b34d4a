"""No program that works is ever said to miss a name, whatever the program."""

import sys
from collections.abc import Callable
from random import Random
from types import FrameType
from typing import Any

from hypothesis import HealthCheck, assume, event, given, note, settings
from hypothesis import strategies as st

from evolve.patch.undefined import undefined_names

VARIABLES = ("a", "b", "c", "x")
FUNCTIONS = ("f0", "f1")
MOST_STEPS = 3000
FILE = "<made>"


class TooManySteps(BaseException):
    """Raised in a program that runs for too long."""


# -- programs ----------------------------------------------------------------------------------------------------


class ProgramWriter:
    """Writes a program, drawn by a seed (a strategy of this depth takes hypothesis a second for each)."""

    def __init__(self, seed: int, *, guarded: bool) -> None:
        self.draw, self.guarded = Random(seed), guarded

    def program(self) -> str:
        lines = ["import contextlib", f"a = b = {self.draw.choice(['c = 1', '2'])}"]
        for number, name in enumerate(FUNCTIONS):
            if self.draw.randrange(4) or not self.guarded:
                lines += self.function(name, number + 1, 2)
        if self.guarded and self.draw.randrange(2):
            lines += self.block(0, 1)
        return "\n".join([*lines, *self.function("solve", 0, 2)]) + "\n"

    def call(self, first: int) -> str:
        """A call of a function that stands at `first` or later (so that nothing recurs), with any arguments."""
        given = self.draw.sample(["1", "x", "y=2", "a=3", "*[1, 2]", "**{'b': 1}"], self.draw.randrange(3))
        given.sort(key=lambda text: ("=" in text or "**" in text, text.startswith("**")))
        return f"{self.draw.choice(FUNCTIONS[first:] or ('len',))}({', '.join(given)})"

    def expression(self, first: int) -> str:
        leaf = self.draw.choice([*VARIABLES * 3, "nowhere", "max", "1", "[1, 2]", self.call(first)])
        forms = ["{}", "{}", "[a for a in [1] if {}]", "(c := {})", "[[b, (a := {})] for b in [1]]"]
        forms += ["(lambda b, c={}: [b, c])(1)", "list({} for c in [1])", 'f"{{{}}}"']
        return self.draw.choice(forms).format(leaf)

    def block(self, first: int, depth: int) -> list[str]:
        kinds = ["expression", "assign"] * 6 + ["augment", "delete", "import"]
        if depth:
            kinds += ["if", "for", "def", "class", *(["try", "with"] if self.guarded else [])]
        return [
            line
            for _ in range(self.draw.randint(1, 3))
            for line in self.statement(self.draw.choice(kinds), first, depth)
        ]

    def inner(self, first: int, depth: int) -> list[str]:
        return [f"    {line}" for line in self.block(first, depth - 1)]

    def statement(self, kind: str, first: int, depth: int) -> list[str]:
        value, name = self.expression(first), self.draw.choice(VARIABLES)
        if not depth or kind in ("expression", "assign", "augment", "delete", "import"):
            one = {"expression": value, "assign": f"{name} = {value}", "augment": f"{name} += 1"}
            return [(one | {"delete": f"del {name}"}).get(kind, f"import math as {name}")]
        if kind == "if":
            return ["if x:", *self.inner(first, depth), "else:", *self.inner(first, depth)]
        if kind == "for":
            return [f"for {name} in [1, 2]:", *self.inner(first, depth)]
        if kind == "try":
            caught = self.draw.choice(["NameError", "Exception", "TypeError", "(KeyError, NameError)", "KeyError"])
            return ["try:", *self.inner(first, depth), f"except {caught} as c:", *self.inner(first, depth)]
        if kind == "with":
            return ["with contextlib.suppress(NameError):", *self.inner(first, depth)]
        if kind == "class":
            method = ["    def m(self, a):", *(f"    {line}" for line in self.inner(first, 1))]
            return ["class K:", *self.inner(first, depth), *method, self.draw.choice(["K().m(1)", "K.a"])]
        used = self.draw.choice(["inner(1)", "inner()", "a = inner", "list(map(inner, [1]))"])
        return [*self.function("inner", first, depth - 1), used]

    def function(self, name: str, first: int, depth: int) -> list[str]:
        choices = ["x", "x, y", "x, y=1", "x, /", "*x", "x, *, a=1", "x, **b", "x, *, b"]
        parameters = self.draw.choice(choices[:3] if name == "solve" else choices)
        lines = [f"def {name}({parameters}):", *(f"    {line}" for line in self.block(first, depth))]
        if self.draw.randrange(3) == 0:
            lines.insert(1, f"    global {self.draw.choice(['a', 'b', 'nowhere' if self.guarded else 'c'])}")
        if self.guarded and self.draw.randrange(5) == 0 and name != "solve":
            lines.insert(0, "@(lambda f: lambda *_: 1)")
        return [*lines, f"    return {self.expression(first)}"]


SEEDS = st.integers(0, 10**9)


# -- what became of them ------------------------------------------------------------------------------------------


def outcome(source: str) -> BaseException | None:
    """What ended the program, if anything did."""
    steps = 0

    def trace(frame: FrameType, kind: str, _: Any) -> Callable[..., Any] | None:
        nonlocal steps
        if frame.f_code.co_filename != FILE:
            return None
        steps += 1
        if steps > MOST_STEPS:
            raise TooManySteps
        return trace

    namespace: dict[str, Any] = {"__name__": "candidate"}
    code = compile(source, FILE, "exec", dont_inherit=True)
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        exec(code, namespace)
        namespace["solve"](1)
    except (Exception, TooManySteps) as error:  # noqa: BLE001 - whatever a made program ends with
        return error
    finally:
        sys.settrace(before)
    return None


def compiles(source: str) -> bool:
    try:
        compile(source, FILE, "exec", dont_inherit=True)
    except SyntaxError:  # `del` of what is declared, a name that is a parameter and global
        return False
    return True


@settings(suppress_health_check=list(HealthCheck))
@given(SEEDS)
def test_a_program_that_works_is_never_refused(seed: int) -> None:
    source = ProgramWriter(seed, guarded=True).program()
    note(source)
    assume(compiles(source))
    missing = {name.id for name in undefined_names(source, "solve")}
    ended = outcome(source)
    assert ended is not None or not missing
    event("ended well" if ended is None else "failed")
    event(f"refused: {bool(missing)}")


def test_some_of_those_that_miss_a_name_are_refused() -> None:
    found = 0
    for seed in range(400):
        source = ProgramWriter(seed, guarded=False).program()
        ended = outcome(source) if compiles(source) else None
        if isinstance(ended, NameError) and ended.name == "nowhere":
            found += any(name.id == "nowhere" for name in undefined_names(source, "solve"))
    assert found > 4
