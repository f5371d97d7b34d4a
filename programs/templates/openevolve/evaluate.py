"""Scores a program with an evaluator that was written for OpenEvolve. `evolve` runs `evaluate.py PROGRAM RESULT.json`.

The evaluator stands unchanged in `theirs/`. What it returns becomes RESULT.json:
- the fitness is `combined_score`, else the mean of the other numbers; True and False are no numbers;
- what is no finite number is never a score: such a program is not correct, and the feedback says why;
- numbers are metrics, texts and artifacts are feedback.
`docs/coming-from.md` in evolve's source tells what is treated otherwise than there, and why.
"""

import importlib.util
import json
import math
import os
import sys
import tempfile
import traceback
from pathlib import Path

# What was taken over from the configuration.
EVALUATOR = "theirs/evaluator.py"
CASCADE = True  # evaluator.cascade_evaluation: stages, where the evaluator has them
THRESHOLDS = [0.5, 0.75, 0.9]  # evaluator.cascade_thresholds: what a stage must reach for the next one
ARGUMENTS = {}  # evaluator.evaluator_args: handed to evaluate()
NOT_FITNESS = ["complexity", "diversity"]  # database.feature_dimensions: not in the mean
PACKER = None  # the evaluator's function that makes one text of a program's folder; without one it gets the folder

HERE = Path(__file__).resolve().parent
LONGEST = 4_000  # characters of one text
TAKEN = {"success_rate", "published_score", "runtime_s"}  # names of metrics that mean something else here


class Refused(Exception):
    """What the evaluator returned is no result."""


def main(program, result):
    """Score the file `program`; write the file `result`."""
    program, result = os.path.abspath(program), os.path.abspath(result)
    evaluator = load(prepare())
    if "psutil" in sys.modules and not Path("/proc/meminfo").exists():
        show_memory(sys.modules["psutil"])
    try:
        said = evaluated(evaluator, packed(evaluator, program))
    except Refused as refusal:
        said = failed(str(refusal))
    except (Exception, SystemExit) as error:
        said = failed(in_one_line(error), {"traceback": raised_where()})
    Path(result).write_text(json.dumps(said, allow_nan=False), encoding="utf-8")


def prepare():
    """Make the surroundings that such an evaluator expects: its files in a folder that it may write to, where it is run
    and whose modules it may import. The path of the evaluator there."""
    folder = (HERE / EVALUATOR).parent
    sys.path.append(str(HERE / "stand_ins"))  # last: a package that is installed is preferred
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    work = Path(tempfile.gettempdir(), "work")  # new in the sandbox, and of one name: it may stand in messages
    if work.exists():
        work = Path(tempfile.mkdtemp())
    for place, _, names in os.walk(folder):
        here = work / Path(place).relative_to(folder)
        here.mkdir(exist_ok=True)
        for name in names:
            (here / name).symlink_to(Path(place, name))
    os.chdir(work)
    sys.path[0] = str(work)
    return work / Path(EVALUATOR).name


def load(path):
    """Their evaluator as a module. It is not the program's fault when it cannot be loaded: that ends this script."""
    try:
        spec = importlib.util.spec_from_file_location("evaluation_module", path)
        module = importlib.util.module_from_spec(spec)
        sys.modules["evaluation_module"] = module
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        traceback.print_exc()
        raise SystemExit(f"{EVALUATOR} cannot be loaded: {in_one_line(error)}") from None
    if not callable(getattr(module, "evaluate", None)):
        raise SystemExit(f"{EVALUATOR} has no function evaluate(program_path)")
    if PACKER is not None and not callable(getattr(module, PACKER, None)):
        raise SystemExit(f"{EVALUATOR} has no function {PACKER}(folder)")
    return module


def show_memory(psutil):
    """Let psutil find the machine's memory, which it reads from /proc: the sandbox has none."""
    folder, kb = Path(tempfile.mkdtemp()), os.sysconf("SC_PAGE_SIZE") // 1024
    total, free = os.sysconf("SC_PHYS_PAGES") * kb, os.sysconf("SC_AVPHYS_PAGES") * kb
    lines = [f"MemTotal: {total} kB", f"MemFree: {free} kB", f"MemAvailable: {free} kB", "Buffers: 0 kB", "Cached: 0 kB"]
    (folder / "meminfo").write_text("\n".join([*lines, ""]))
    psutil.PROCFS_PATH = str(folder)


def packed(evaluator, program):
    """The path that evaluate() gets: that of the program, or of the text that their function makes of its folder."""
    if PACKER is None:
        return program
    path = Path(tempfile.mkdtemp(), "program.txt")
    path.write_text(getattr(evaluator, PACKER)(program), encoding="utf-8")
    return str(path)


def evaluated(evaluator, program):
    """RESULT.json for a program. Raises Refused, and whatever the evaluator raises."""
    if CASCADE and hasattr(evaluator, "evaluate_stage1"):
        metrics, artifacts, broken = in_stages(evaluator, program)
    else:
        metrics, artifacts = parts(evaluator.evaluate(program, **ARGUMENTS))
        broken = None
    numbers, lines = sorted_out(metrics)
    said = {"metrics": numbers, "artifacts": texts(artifacts)}
    try:
        said["combined_score"] = fitness(metrics)
        reason = broken or failure(metrics, said["combined_score"])
    except Refused as refusal:
        reason = broken or failure(metrics, None) or str(refusal)
    return {**said, "correct": reason is None, "feedback": "\n".join([*([reason] if reason else []), *lines])}


def in_stages(evaluator, program):
    """The stages one after the other: the metrics and artifacts of those that were run, and why one of them broke.

    A program that misses a threshold ends there, with what it has. The last stage that it reached need not be passed.
    """
    metrics, artifacts = {}, {}
    for number in (1, 2, 3):
        stage = getattr(evaluator, f"evaluate_stage{number}", None)
        if number > 1 and (stage is None or number - 2 >= len(THRESHOLDS) or not passed(metrics, THRESHOLDS[number - 2])):
            break
        try:
            new, more = parts(stage(program))
        except (Exception, SystemExit) as error:
            why = f"stage {number}: {str(error) if isinstance(error, Refused) else in_one_line(error)}"
            artifacts[f"stage{number}_traceback"] = raised_where()
            return {**metrics, f"stage{number}_passed": 0.0}, artifacts, why
        if number > 1:  # an error counts where it is the whole result
            metrics.pop("error", None)
            new = {name: value for name, value in new.items() if name != "error" or isinstance(value, str)}
        metrics.update(new)
        artifacts.update(more)
    return metrics, artifacts, None


def parts(returned):
    """The metrics and artifacts of what was returned: a dictionary, or an object that has them."""
    metrics, artifacts = returned, {}
    if not isinstance(returned, dict):
        metrics, artifacts = getattr(returned, "metrics", None), getattr(returned, "artifacts", None) or {}
    if not isinstance(metrics, dict) or not isinstance(artifacts, dict):
        raise Refused(f"the evaluator returned {type(returned).__name__}, neither metrics by name nor an object with them")
    return {str(name): value for name, value in metrics.items()}, artifacts


def number_of(value):
    """`value` as a float if it is a number (numpy's too), else None. True and False are none."""
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def usable(number):
    """Whether a number is finite, and not too large to be added up: what evolve takes."""
    return abs(number) <= 1e100


def fitness(metrics):
    """What programs are compared by. Raises Refused where there is no finite number."""
    if "combined_score" in metrics:
        score = number_of(metrics["combined_score"])
        if score is None or not usable(score):
            raise Refused(f"combined_score is {shown(metrics['combined_score'])}, which is no finite number")
        return score
    numbers = {name: number for name, value in metrics.items() if (number := number_of(value)) is not None}
    counted = {name: number for name, number in numbers.items() if name not in NOT_FITNESS} or numbers
    if not counted:
        raise Refused("the evaluator returned no number, so there is no score")
    for name, number in counted.items():
        if not usable(number):
            raise Refused(f"the metric {name} is {number}, so the mean of the metrics is no finite number")
    return math.fsum(number / len(counted) for number in counted.values())


def passed(metrics, threshold):
    """Does what the stages before gave reach a threshold? `error` does not count here."""
    try:
        if "combined_score" in metrics:
            return fitness({"combined_score": metrics["combined_score"]}) >= threshold
        rest = [number for name, value in metrics.items() if name != "error" and (number := number_of(value)) is not None]
        return bool(rest) and math.fsum(rest) / len(rest) >= threshold
    except (Refused, ValueError, OverflowError):
        return False


def failure(metrics, score):
    """Why the evaluator says that the program failed, None where it does not say so: by a text as `error` and a score
    that is not above 0, or by an `error` without any metric. Otherwise `error` is an ordinary metric."""
    error = metrics.get("error")
    if isinstance(error, str) and error.strip() and (score is None or score <= 0):
        return "the evaluator says that it failed"
    metric_names = [name for name, value in metrics.items() if name != "error" and number_of(value) is not None]
    return "the evaluator reports an error, and no metric" if number_of(error) is not None and not metric_names else None


def failed(reason, artifacts=None):
    """The result of a program without a score."""
    return {"correct": False, "metrics": {}, "feedback": clean(reason), "artifacts": artifacts or {}}


def sorted_out(metrics):
    """The finite numbers among the metrics, and a line for each of the others."""
    numbers, lines = {}, []
    for name, value in metrics.items():
        number = number_of(value)
        if name == "combined_score":
            continue
        if number is not None and usable(number):
            numbers[own_name(name)] = number
        elif value is not None:
            lines.append(f"{clean(name)}: {shown(value)}")
    return numbers, lines


def texts(artifacts):
    """Artifacts as texts: bytes where they are UTF-8, everything else as it prints."""
    found = {}
    for name, value in artifacts.items():
        if isinstance(value, (bytes, bytearray)):
            try:
                value = bytes(value).decode("utf-8")
            except UnicodeDecodeError:
                value = f"{len(value)} bytes that are no text"
        found[clean(str(name))] = clean(value) if isinstance(value, str) else shown(value)
    return found


def shown(value):
    """A value in a few words."""
    if isinstance(value, str):
        return clean(value)
    try:
        return clean(json.dumps(value, default=repr))
    except Exception as error:  # it is the evaluator's, or the program's, and may do anything
        return f"a {type(value).__name__} that cannot be shown ({type(error).__name__})"


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
    except SystemExit as error:
        print(error, file=sys.stderr)
    except BaseException:  # boundary: whatever it was is printed, and the status tells that it failed
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # a thread that a program has left running is not waited for
