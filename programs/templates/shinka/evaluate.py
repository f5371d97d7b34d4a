"""Scores a program with an evaluator that was written for ShinkaEvolve. `evolve` runs `evaluate.py PROGRAM RESULT.json`.

The evaluator stands unchanged in `theirs/`. It is run as there, with `--program_path` and `--results_dir`, and what it
writes into that folder becomes RESULT.json: `correct.json` (correct, error) and `metrics.json` (combined_score; public:
numbers are metrics, the rest is feedback; private: kept, and shown to no model; text_feedback). Nothing else is read, and
no pickle is loaded. What is no finite number is never a score. `docs/coming-from.md` in evolve's source tells more.
"""

import json
import os
import runpy
import sys
import tempfile
import traceback
from pathlib import Path

# What was taken over from the configuration.
EVALUATOR = "theirs/evaluate.py"
ARGUMENTS = {}  # job_config.extra_cmd_args: handed on as --NAME VALUE

HERE = Path(__file__).resolve().parent
LONGEST = 4_000  # characters of one text
TAKEN = {"success_rate", "published_score", "runtime_s"}  # names of metrics that mean something else here
LARGEST = 4_000_000  # bytes of one file


class Refused(Exception):
    """What the evaluator wrote is no result."""


def main(program, result):
    """Score the file `program`; write the file `result`."""
    program, result = os.path.abspath(program), os.path.abspath(result)
    prepare()
    results = Path.cwd() / "results"
    results.mkdir(exist_ok=True)
    raised, artifacts = run(program, results)
    try:
        said = read(results)
        if raised:  # as there, what was written counts
            said["feedback"] = f"{said['feedback']}\n{EVALUATOR} raised {raised}".strip()
    except Refused as refusal:
        reason = f"{EVALUATOR} raised {raised}" if raised else str(refusal)
        said = {"correct": False, "metrics": {}, "feedback": clean(reason), "artifacts": {}}
    said["artifacts"] = artifacts
    Path(result).write_text(json.dumps(said, allow_nan=False), encoding="utf-8")


def prepare():
    """Make the surroundings that such an evaluator expects: its own folder importable, its files where it is run."""
    folder = (HERE / EVALUATOR).parent
    sys.path[0] = str(folder)
    sys.path.append(str(HERE / "stand_ins"))  # last: a package that is installed is preferred
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    work = Path(tempfile.gettempdir(), "work")  # new in the sandbox, and of one name: it may stand in messages
    if work.exists():
        work = Path(tempfile.mkdtemp())
    work.mkdir(exist_ok=True)
    os.chdir(work)
    for path in folder.iterdir():
        os.symlink(path, path.name)


def run(program, results):
    """Run their evaluator: what it raised, in one line (None if nothing), and the traceback as an artifact."""
    path = str(HERE / EVALUATOR)
    sys.argv = [path, "--program_path", program, "--results_dir", str(results)]
    sys.argv += [text for name, value in ARGUMENTS.items() for text in (f"--{name}", str(value))]
    try:
        runpy.run_path(path, run_name="__main__")
    except SystemExit as ended:
        return (None, {}) if ended.code in (None, 0) else (in_one_line(ended), {})
    except Exception as error:  # the evaluator's own or the program's, and it may be any: it is the result
        return in_one_line(error), {"traceback": raised_where()}
    return None, {}


def read(results):
    """RESULT.json out of the files of a results folder. Raises Refused."""
    verdict, metrics = document(results / "correct.json"), document(results / "metrics.json")
    correct = verdict.get("correct")
    if not isinstance(correct, bool):
        raise Refused(f"correct.json: `correct` is {shown(correct)}, neither true nor false")
    public = section(metrics, "public")
    numbers, lines = {}, []
    for name, value in public.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            lines.append(f"{clean(name)}: {shown(value)}")
        else:
            numbers[own_name(name)] = value
    said = {"correct": correct, "metrics": numbers, "private": section(metrics, "private")}
    score, reason = metrics.get("combined_score"), verdict.get("error")
    if isinstance(score, (int, float)) and not isinstance(score, bool):
        said["combined_score"] = score
    elif correct:
        said["correct"] = False
        reason = "metrics.json has no combined_score" if score is None else f"combined_score is {shown(score)}, no finite number"
    reason = reason or "the evaluator says that the program is not correct"
    feedback = metrics.get("text_feedback")
    said["feedback"] = "\n".join(
        clean(text) for text in (None if said["correct"] else reason, feedback, *lines) if isinstance(text, str) and text
    )
    return said


def section(metrics, name):
    """The values by name of a part of metrics.json that need not be there. Raises Refused."""
    found = metrics.get(name)
    if found is not None and not isinstance(found, dict):
        raise Refused(f"metrics.json: `{name}` is no object")
    return found or {}


def document(path):
    """The object in a JSON file; a number that is not finite becomes a text. Raises Refused."""
    try:
        if path.is_symlink() or not path.is_file():
            raise Refused(f"{EVALUATOR} wrote no {path.name}")
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise Refused(f"{path.name} is larger than {LARGEST} bytes")
        found = json.loads(data.decode("utf-8"), parse_constant=str, parse_float=finite, parse_int=finite)
    except (OSError, ValueError, RecursionError) as error:
        raise Refused(f"{path.name} cannot be read: {in_one_line(error)}") from None
    if not isinstance(found, dict):
        raise Refused(f"{path.name} is no object")
    return found


def finite(text):
    """The number that JSON text means, the text itself where it is too large to be added up: evolve takes none."""
    number = float(text)
    if not abs(number) <= 1e100:
        return text
    return int(text) if text.lstrip("-").isdigit() and len(text) < 16 else number


def shown(value):
    """A value in a few words."""
    return clean(value if isinstance(value, str) else json.dumps(value))


def in_one_line(error):
    """An exception in one line."""
    try:
        return clean(" ".join(f"{type(error).__name__}: {error}".split()))
    except Exception:  # boundary: an exception of the program's own may not even have a text
        return type(error).__name__


def clean(text):
    """A text that can be written as UTF-8, cut where it is too long."""
    text = str(text).encode("utf-8", "replace").decode("utf-8")
    return text if len(text) <= LONGEST else text[:LONGEST] + f" ... ({len(text)} characters)"


def raised_where():
    """The end of the traceback of the exception in hand."""
    return clean("... " + traceback.format_exc()[-1500:])


def own_name(name):
    """What a metric is called here."""
    return f"evaluator_{clean(name)}" if name in TAKEN else clean(name)


if __name__ == "__main__":
    status = 1
    try:
        main(sys.argv[1], sys.argv[2])
        status = 0
    except BaseException:  # boundary: whatever it was is printed, and the status tells that it failed
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # a thread that a program has left running is not waited for
