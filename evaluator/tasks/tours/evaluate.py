"""Compiles a program in C and runs it on every instance: `evaluate.py PROGRAM RESULT.json INSTANCES.json`.

It writes what the program answered; `judge.py` decides, outside. It imports nothing but the standard library, for it
runs by itself in the sandbox of its program. It ends with 1 for a program that does not compile, and with 3 where there
is no compiler, which is the machine's fault and no program's.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

COMPILERS = ("cc", "gcc", "clang")
FLAGS = ("-std=c11", "-O2", "-ffp-contract=off", "-Wall")
MOST_SAID = 1500  # characters of a compiler's complaints
LACKING = 3


def compiled(program: Path) -> Path:
    """The executable. Ends this process where there is none."""
    compiler = next(filter(None, map(shutil.which, COMPILERS)), None)
    if compiler is None:
        names = ", ".join(COMPILERS)
        sys.stderr.write(f"there is no C compiler ({names}): install one, such as gcc with its C library's headers\n")
        sys.exit(LACKING)
    linked, executable = program.with_suffix(".linked"), program.with_suffix(".run")
    ran = subprocess.run(
        [compiler, *FLAGS, "-o", str(linked), str(program), "-lm"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if ran.returncode != 0:
        sys.exit(f"{ran.stdout[:MOST_SAID]}\nthe program does not compile")
    # A file that is made executable: the sandbox may refuse to change the mode of one that exists.
    with os.fdopen(os.open(executable, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o755), "wb") as file:
        file.write(linked.read_bytes())
    return executable


def answer(executable: Path, points: list[list[int]]) -> tuple[list[int] | None, str]:
    """The tour that the program prints; None with the reason where it prints none."""
    asked = "\n".join([str(len(points)), *(f"{x} {y}" for x, y in points)]) + "\n"
    ran = subprocess.run([str(executable)], input=asked.encode(), capture_output=True, check=False)
    if ran.returncode != 0:
        how = f"signal {-ran.returncode}" if ran.returncode < 0 else f"status {ran.returncode}"
        return None, f"it ended with {how}"
    try:
        return [int(word) for word in ran.stdout.split()], ""
    except ValueError:
        return None, "it printed something else than whole numbers"


def main(program: str, result: str, instances: str) -> None:
    """Write the answers to all instances, and what went wrong."""
    executable = compiled(Path(program).resolve())
    answers, said = list[list[int] | None](), list[str]()
    for number, instance in enumerate(json.loads(Path(instances).read_text(encoding="utf-8"))):
        found, why = answer(executable, instance["points"])
        answers.append(found)
        if why:
            said.append(f"instance {number}: {why}")
    hand_over({"answers": answers, "feedback": "\n".join(said)}, Path(result))


def hand_over(written: dict[str, Any], result: Path) -> None:
    """Through the pipe, which no program has: a process that one left could change the file. The file is for whoever
    runs this by hand."""
    text, pipe = json.dumps(written), os.environ.get("EVOLVE_RESULT_FD")
    if pipe is None:
        result.write_text(text, encoding="utf-8")
        return
    with os.fdopen(int(pipe), "w", encoding="utf-8") as file:
        file.write(f"{text}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
