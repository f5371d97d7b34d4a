"""Hostile texts and values, drawn from a generator: noise, damage to what is honest, text that explodes when read."""

import math
import random
from typing import Any, Final

_PIECES: Final = (
    "<NAME>",
    "</NAME>",
    "<DESCRIPTION>",
    "</DESCRIPTION>",
    "<DIFF>",
    "</DIFF>",
    "<CODE>",
    "</CODE>",
    "<think>",
    "</think>",
    "<<<<<<< SEARCH\n",
    "\n=======\n",
    "\n>>>>>>> REPLACE\n",
    "```python\n",
    "```\n",
    "# EVOLVE-BLOCK-START\n",
    "# EVOLVE-BLOCK-END\n",
    "\n",
    "\r\n",
    "\r",
    "\t",
    " ",
    "    ",
    "\0",
    "\x1b[31m",
    "\u202e",
    "\ufeff",
    "\ud800",
    "é",
    "\N{MATHEMATICAL DOUBLE-STRUCK DIGIT ZERO}",
    "\u2028",
    "0" * 5000,
    "[" * 50,
    "(" * 50,
    '"""',
    "'",
    "\\",
    "{",
    "}",
    "# Global insights scratchpad\n",
    "(generation 4)",
    "**",
    "- ",
    "1. ",
    "&a ",
    "*a",
    "!!python/object:os.system ",
    "NaN",
    "1e999",
    "-0",
    "null",
    "../../x",
    "~",
    "\n" * 40,
)


_MOST: Final = 400_000
"""No damaged text has more characters."""


def noise(rng: random.Random, length: int) -> str:
    """At most `size` characters of pieces that mean something to some reader, and of any others."""
    parts: list[str] = []
    size = 0
    while size < length and rng.random() < 0.97:
        part = (
            rng.choice(_PIECES) if rng.random() < 0.6 else chr(rng.choice((rng.randrange(128), rng.randrange(0xD7FF))))
        )
        parts.append(part)
        size += len(part)
    return "".join(parts)[:length]


def mutated_bytes(rng: random.Random, whole: bytes) -> bytes:
    """Bytes, damaged as `mutated` damages text."""
    return mutated(rng, whole.decode("latin-1")).encode("latin-1", "replace")


def mutated(rng: random.Random, text: str) -> str:
    """Text, cut, doubled, spliced or with pieces put in."""
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        one, other = sorted((rng.randrange(len(text) + 1), rng.randrange(len(text) + 1)))
        kind = rng.randrange(6)
        if kind == 0:
            text = text[:one] + noise(rng, 40) + text[one:]
        elif kind == 1:
            text = text[:one] + text[min(other, one + 200) :]
        elif kind == 2:
            text = text[:other] + text[one:]
        elif kind == 3:
            text = text[:one]
        elif kind == 4:
            text = text[:one] + chr(rng.randrange(256)) + text[one + 1 :]
        else:
            many = text[one:other] * min(rng.choice((2, 3, 100)), 1 + _MOST // (other - one + 1))
            text = text[:one] + many + text[other:]
        text = text[:_MOST]
    return text


def bomb(rng: random.Random, limit: int) -> str:
    """Text of at most `size` characters that is easy to write, and expensive to read, parse, compile or compare."""
    depth = rng.choice((5, 30, 99, 120, 1000, 20_000))
    wide = rng.choice((10, 500, 5000, 60_000))
    name = rng.choice("abcxyz")
    texts = (
        lambda: nested(depth, "try:", "finally:", limit),
        lambda: doubling(rng.randrange(8, 20)),
        lambda: nested(depth, "if x:", "else:", limit),
        lambda: nested(depth, "for i in x:", None, limit),
        lambda: nested(depth, "def f():", None, limit),
        lambda: nested(depth, "with a, b, c:", None, limit),
        lambda: nested(depth, "try:", "except* E:", limit),
        lambda: "x = " + "(" * depth + ")" * depth,
        lambda: "x = " + "[" * depth + "]" * depth,
        lambda: "x = " + "-" * wide + "1",
        lambda: "x = " + "not " * wide + "1",
        lambda: "x = " + " + ".join([name] * wide),
        lambda: "x = " + " if a else ".join([name] * wide),
        lambda: "x = " + ".".join([name] * wide),
        lambda: "x = " + name + "()" * wide,
        lambda: "x = " + "lambda: " * wide + "0",
        lambda: "x = " + 'f"{' * depth + "1" + '}"' * depth,
        lambda: "x = [" + "".join(f"a for {name}{i} in b " for i in range(depth)) + "]",
        lambda: "x = " + "9" * wide,
        lambda: "x = 9 ** 9 ** 9 ** 9",
        lambda: "x = 'a' * 10 ** 10",
        lambda: "x = (1,) * 10 ** 9",
        lambda: "\n".join(["pass"] * wide),
        lambda: "\n".join(f"v{i} = {i}" for i in range(wide // 10)),
        lambda: "\n".join([" " * (i % 90) + "x" for i in range(wide // 10)]),
        lambda: "<" * wide,
        lambda: "<<<<<<< SEARCH\n" * (wide // 10),
        lambda: "<DIFF>" * wide + "</DIFF>" * wide,
        lambda: "<think>" * wide,
        lambda: "```" * wide,
        lambda: ("```python\n" + "x\n") * (wide // 10),
        lambda: "**" * wide,
        lambda: "(generation 1, generation 2)" * (wide // 10),
        lambda: ("- " * wide) + "\n" + "#" * wide,
        lambda: " " * wide + "\n" + "\t" * wide + "x",
        lambda: "match x:\n" + "".join(f"    case {i}: pass\n" for i in range(wide // 10)),
        lambda: "class A" + "(B" * depth + ")" * depth + ": pass",
        lambda: "@" + "\n@".join([name] * wide) + "\ndef f(): pass",
        lambda: "global " + ", ".join(f"{name}{i}" for i in range(wide)),
        lambda: "x: " + "A[" * depth + "]" * depth,
        lambda: "\\\n" * wide + "x = 1",
        lambda: "{" * depth,
        lambda: "&a [" * depth,
        lambda: "? " * depth,
        lambda: "- " * depth + "x",
        lambda: noise(rng, min(limit, wide)),
    )
    return rng.choice(texts)()[:limit]


def nested(depth: int, head: str, tail: str | None, limit: int) -> str:
    """Blocks within blocks, by the least indentation of about `size` characters; of each what stands below."""
    depth = min(depth, math.isqrt(limit))
    lines = [" " * level + head for level in range(depth)] + [" " * depth + "pass"]
    if tail is not None:
        for level in reversed(range(depth)):
            lines += [" " * level + tail, " " * (level + 1) + "pass"]
    return "\n".join(lines) + "\n"


def doubling(depth: int) -> str:
    """Few lines whose code doubles with each level when it is compiled: a `finally` is written more than once."""
    lines = [" " * level + line for level in range(depth) for line in ("try: f()", "finally:")]
    return "\n".join([*lines, " " * depth + "g()"]) + "\n"


def value(rng: random.Random, depth: int = 0) -> Any:
    """Any value that JSON can hold, and some that it cannot."""
    kind = rng.randrange(14 if depth < 5 else 11)
    if kind == 11:
        return [value(rng, depth + 1) for _ in range(rng.randrange(5))]
    if kind == 12:
        return {noise(rng, 8): value(rng, depth + 1) for _ in range(rng.randrange(4))}
    if kind == 13:
        nest: Any = []
        for _ in range(rng.choice((3, 31, 33, 500))):
            nest = [nest]
        return nest
    return (
        None,
        True,
        False,
        rng.randrange(-3, 60),
        rng.choice((2**63, -(2**70), 10**40)),
        rng.random(),
        float(rng.choice(("nan", "inf", "-inf", "1e308", "-0.0"))),
        "",
        noise(rng, 30),
        "x" * rng.choice((10, 70_000)),
        rng.choice(("0", "1/3", "1/0", "NaN", "9" * 5000)),
    )[kind]
