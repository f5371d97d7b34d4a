"""What each command takes. Light to import, so that `--help` and a mistyped option answer at once."""

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from typing import Final

from evaluator.places import DEFAULT_TASK, TEMPLATES

TUNE_EVALUATIONS: Final = 100
PROOF_SECONDS: Final = 300.0
_MOST_FRESH: Final = 10_000
_MOST_SECONDS: Final = 3600.0
_PROGRAM: Final = "a generation, `best`, or the beginning of a commit id"
_RUN: Final = "a run's folder or name"
_TEXTS: Final = {
    "code": "its source; byte for byte when the output is no terminal",
    "patch": "the patch that made it",
    "prompt": "the prompt that the model got",
    "answer": "the model's answer",
    "reasoning": "the model's reasoning, where its server returns it",
    "feedback": "the evaluator's feedback for the next proposal",
}
_SHOW_USAGE: Final = """%(prog)s [-h] [--json] RUN PROGRAM
                   [--code | --patch | --prompt | --answer | --reasoning |
                    --feedback | --instances [--task T]]"""  # argparse would not break the line


def _run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("config", nargs="?", metavar="CONFIG.yaml", help="configuration; options override it")
    parser.add_argument("--name", help="folder under ./runs (default: task, suite and time)")
    parser.add_argument("--task", help="a built-in task, or a folder with task.yaml")
    parser.add_argument("--suite", help="the suite to score on")
    _models(parser, "a model of the configuration, one at OpenAI, or scripted:FILE; may be repeated (none: offline)")
    _limits(parser)
    parser.add_argument("--seed", type=int, help="drives every random choice (default 0)")
    _of_a_session(parser, "any key of the configuration, dotted (search.elites=20)")
    parser.add_argument("--yes", action="store_true", help="start without asking whether the estimated cost is fine")
    parser.add_argument(
        "--fix-initial", action="store_true", help="start even though the initial program gives no valid answer"
    )
    parser.add_argument("--print-config", action="store_true", help="print the resolved configuration and stop")


def _resume(parser: argparse.ArgumentParser) -> None:
    _of_a_run(parser)
    _limits(parser)
    parser.add_argument("--yes", action="store_true", help="answer yes to every question except that of --trust")
    _of_a_foreign_task(parser, "use the models, keys, code and folders that somebody else's run names")
    parser.add_argument(
        "--rescore", action="store_true", help="if the judge has changed: score the elites again under it, and go on"
    )
    parser.add_argument(
        "--exclude",
        action="append",
        default=[],
        metavar="PROGRAM",
        help="a program that can no longer be a parent or the best; its children stay; may be repeated",
    )
    parser.add_argument(
        "--repair",
        action="store_true",
        help="if the journal is damaged: cut it off before the first damaged line, save the rest, and go on",
    )
    _of_a_session(parser, "any other key that is not frozen (patience=40, models.NAME.timeout_s=600)")


def _score(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="*", metavar="FILE", type=Path, help="the file of a program")
    parser.add_argument("--task", metavar="T", help=f"a built-in task, or a task's folder (default: {DEFAULT_TASK})")
    parser.add_argument("--suite", metavar="S", help="the suite to score on, or `all` (default: the task's own)")
    parser.add_argument("--baseline", choices=["exact"], help="also score what an exact solver reaches in 1 s and 10 s")
    _sandbox(parser)
    parser.add_argument(
        "--strict",
        action="store_true",
        help="evaluate again with other names, hash seeds, processes; results must match",
    )
    parser.add_argument(
        "--fresh",
        type=_fresh_instances,
        metavar="N",
        help="score on N new instances of the suite's recipe, together with the baselines",
    )
    parser.add_argument("--seed", metavar="SECRET", help="with --fresh: the seed of the instances (default: random)")
    parser.add_argument(
        "--answers",
        metavar="FILE",
        type=Path,
        help="judge the answers in a file of the command `export`, running no program, and compare with the record",
    )
    _json(parser, "a JSON list on stdout, one object per program")


def _patch(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "program", metavar="PROGRAM", type=Path, help="the file (its suffix says the language) or folder to patch"
    )
    parser.add_argument(
        "patch", metavar="PATCH_FILE", type=Path, help="a model's answer: SEARCH/REPLACE blocks or code"
    )
    _output(parser, "write the new source to this file, not to stdout")


def _tune(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", metavar="RUN|FILE", help="a run's name or folder (with PROGRAM), or a program's file")
    parser.add_argument(
        "program", nargs="?", metavar="PROGRAM", help="of a run: a generation, `best`, or the beginning of a commit id"
    )
    parser.add_argument(
        "--evaluations", type=positive, default=TUNE_EVALUATIONS, metavar="N", help="how many at most (default 100)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="drives every random choice (default 0)")
    parser.add_argument("--workers", type=positive, metavar="W", help="evaluator processes (default: the cores)")
    parser.add_argument(
        "--task",
        metavar="T",
        help=f"of a FILE: its task (default {DEFAULT_TASK}); of a RUN: the present folder of its task",
    )
    parser.add_argument("--suite", metavar="S", help="of a FILE: the suite to score on (default: the task's)")
    parser.add_argument("--trust", action="store_true", help="load the task folder that somebody else's run names")
    _output(parser, "write the better program to FILE")
    _sandbox(parser)
    _json(parser)


def _list(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "run_name", nargs="?", metavar="RUN", help="a run's name or folder, or a folder of runs (default: the runs)"
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--all", action="store_true", help="every generation, with or without a program")
    which.add_argument("--failed", action="store_true", help="the generations without a correct program, and why")
    which.add_argument("--best", action="store_true", help="the successive best programs")
    parser.add_argument("--sort", metavar="K", help="score (default), generation, gap, or a metric, best first")
    parser.add_argument("--top", type=positive, metavar="N", help="the first N lines")
    _json(parser)


def _show(parser: argparse.ArgumentParser) -> None:
    parser.usage = _SHOW_USAGE
    _of_a_program(parser)
    texts = parser.add_mutually_exclusive_group()
    for name, meaning in _TEXTS.items():
        texts.add_argument(f"--{name}", dest="text", action="store_const", const=name, help=meaning)
    texts.add_argument("--instances", action="store_true", help="each instance, next to its parent and the best")
    parser.add_argument("--task", metavar="T", help="with --instances: the folder of your own task, to show its bounds")
    _json(parser, "the record as JSON on stdout, with the requested text")


def _diff(parser: argparse.ArgumentParser) -> None:
    _of_a_run(parser)
    parser.add_argument("before", metavar="A", help=_PROGRAM)
    parser.add_argument("after", metavar="B", help="the same, of the other program")


def _lineage(parser: argparse.ArgumentParser) -> None:
    _of_a_program(parser)
    _json(parser)


def _compare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="+", metavar="RUN", help="runs by name or folder, at least two")
    _json(parser)


def _experiment(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE.yaml", help="base, configurations, seeds, budget")
    parser.add_argument(
        "--at-once",
        type=positive,
        metavar="N",
        help="runs at the same time (default: cores / a run's workers)",
    )
    parser.add_argument("--table", action="store_true", help="run nothing: show the results so far")
    _json(parser, "as JSON on stdout, at the end")
    _sandbox(parser)


def _note(parser: argparse.ArgumentParser) -> None:
    _of_a_program(parser)
    parser.add_argument("text", metavar="TEXT", help="the note")


def _insights(parser: argparse.ArgumentParser) -> None:
    _of_a_run(parser)
    parser.add_argument(
        "--at", type=int, metavar="N", help="the report in force when there were N programs (default: now)"
    )
    parser.add_argument("--all", action="store_true", help="the whole report, with each program's summary")
    _json(parser, "its parts as JSON, with the prompts that used them")


def _export(parser: argparse.ArgumentParser) -> None:
    _of_a_run(parser)
    parser.add_argument("program", nargs="?", metavar="PROGRAM", help=_PROGRAM)
    _output(parser, "the file to write the program to")
    parser.add_argument(
        "--answers",
        metavar="FILE",
        type=Path,
        help="write the answers of a best program, which the command `score` can judge again",
    )
    parser.add_argument(
        "--csv", action="store_true", help="write a row for every generation, to FILE or stdout, for a spreadsheet"
    )
    parser.add_argument(
        "--patch",
        action="store_true",
        help="write the changes of a program of several files for git apply, to FILE or stdout",
    )
    parser.add_argument(
        "--message",
        action="store_true",
        help="of a repository: write the text for a pull request (what changed, the measured gain), to FILE or stdout",
    )
    _of_a_foreign_task(parser)


def _apply(parser: argparse.ArgumentParser) -> None:
    _of_a_program(parser)
    parser.add_argument("path", metavar="PATH", type=Path, help="the top folder of the repository")
    _of_a_foreign_task(parser)


def _report(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="+", metavar="RUN", help="a run's name or folder")
    _output(parser, "the file to write (default: RUN.html in this folder, report.html for several runs)")


def _view(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs", nargs="?", metavar="RUNS", help="the folder that holds the runs, or a run (default: runs)"
    )
    parser.add_argument("--port", type=_port, metavar="P", help="the port to listen at (default: 8321, or a free one)")
    parser.add_argument("--no-open", action="store_true", help="open no browser")
    # For `run --view`: a socket that listens already. The key comes on stdin, and the server ends when stdin closes.
    parser.add_argument("--socket", type=int, help=argparse.SUPPRESS)


def _replay(parser: argparse.ArgumentParser) -> None:
    _of_a_run(parser)
    parser.add_argument(
        "program",
        nargs="?",
        default="best",
        metavar="PROGRAM",
        help="a generation, `best` (default), or the beginning of a commit id",
    )
    _of_a_foreign_task(parser)
    _sandbox(parser)
    _json(parser)


def _audit(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what", metavar="WHAT", help="a run; a result folder of ShinkaEvolve or OpenEvolve; or a file of answers"
    )
    parser.add_argument("--task", metavar="T", help="the task: built in, or a folder; of a run, its present folder")
    parser.add_argument("--trust", action="store_true", help="load the task folder that somebody else's run names")
    parser.add_argument("--suite", metavar="S", help="the suite of a folder or of answers (default: the task's)")
    parser.add_argument(
        "--workers", type=positive, metavar="N", help="programs to score at a time (default: one for each core)"
    )
    parser.add_argument(
        "--number", metavar="NAME", help="of a folder: its number that is the task's metric (default: what agrees)"
    )
    parser.add_argument(
        "--claimed",
        type=_decimal,
        metavar="X",
        help="of answers: the value stated for it (default: its value as given)",
    )
    parser.add_argument("--key", metavar="K", help="of answers: where in the file they are, such as solution.values")
    parser.add_argument("--instance", type=int, metavar="I", help="of answers: the instance that the answer is for")
    _sandbox(parser)
    _json(parser)


def _rerun(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_name", metavar="RUN", help="a run's name or folder; it is not changed")
    parser.add_argument("-o", "--output", metavar="FOLDER", help="keep the new archive in FOLDER (default: delete it)")
    parser.add_argument("--workers", type=positive, metavar="N", help="evaluator processes (default: the run's)")
    _of_a_foreign_task(parser, "use the code, templates and folders that somebody else's run names")
    _sandbox(parser)
    _json(parser)


def _place(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "cluster", metavar="CLUSTER.yaml", type=Path, help="GPUs and models, or the name of a shipped one (sixteen)"
    )
    parser.add_argument(
        "--program",
        metavar="P",
        help="use only this program: a file, or RUN:PROGRAM (default: the shipped ones, fastest first)",
    )
    parser.add_argument(
        "--seconds", type=_seconds, default=10.0, metavar="S", help="wall time for all programs together (default: 10)"
    )
    parser.add_argument("--svg", type=Path, metavar="FILE", help="also write a picture of the placement")
    parser.add_argument("--force", action="store_true", help="overwrite FILE if it exists")
    _sandbox(parser)
    _json(parser)


def _bounds(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("task", metavar="TASK", help="a built-in task, or a folder with task.yaml")
    parser.add_argument("--suite", help="the suite (default: the task's)")
    parser.add_argument("--verify", action="store_true", help="prove every bound again (needs the extra `bounds`)")
    parser.add_argument("--instances", metavar="I", help="only these: 3, or 0-9, or 0-4,17")
    parser.add_argument("--limit", type=float, metavar="S", help=f"seconds for each proof (default {PROOF_SECONDS:g})")
    _json(parser, "print JSON")


def _new(parser: argparse.ArgumentParser) -> None:
    kinds = sorted(path.name for path in TEMPLATES.iterdir() if (path / "task.yaml").is_file())
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="the folder to make; one that exists is refused")
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--kind",
        choices=kinds,
        default="answer",
        help="the kind of task: answer (a program answers each instance at once), interactive (a program is asked item "
        "by item), script (a script of yours runs and scores programs); default: %(default)s",
    )
    what.add_argument(
        "--from-openevolve",
        metavar="DIR",
        type=Path,
        help="convert a task of OpenEvolve: initial_program.*, evaluator.py, config.yaml",
    )
    what.add_argument(
        "--from-shinka",
        metavar="DIR",
        type=Path,
        help="convert a task of ShinkaEvolve: initial.*, evaluate.py, and its YAML file or run_evo.py",
    )
    what.add_argument(
        "--from-repo",
        metavar="PATH",
        type=Path,
        help="make a task out of your git repository",
    )
    parser.add_argument(
        "--config", metavar="FILE", type=Path, help="the configuration in DIR to convert, where there are several"
    )
    repository = parser.add_argument_group("with --from-repo")
    repository.add_argument("--edit", metavar="GLOB", nargs="+", action="extend", help="the files that may change")
    repository.add_argument("--test", metavar="CMD", help="the tests: they must pass")
    repository.add_argument("--bench", metavar="CMD", help="the benchmark")
    measure = repository.add_mutually_exclusive_group()
    measure.add_argument(
        "--bench-time",
        nargs="?",
        const="cpu",
        choices=("cpu", "wall"),
        help="measure the benchmark's CPU time (default) or wall time, of all its processes, from outside",
    )
    measure.add_argument("--bench-memory", action="store_true", help="measure its peak memory instead")
    measure.add_argument(
        "--metric", metavar="METRIC", help="read the number it prints: json:KEY, or a regular expression"
    )
    repository.add_argument("--direction", choices=("min", "max"), help="with --metric: which numbers are better")
    repository.add_argument("--setup", metavar="CMD", help="run once; each program gets a copy of the files after it")
    repository.add_argument("--build", metavar="CMD", help="run for each program, before its tests")
    repository.add_argument("--test-count", metavar="REGEX", help="finds the number of tests in what they print")
    repository.add_argument("--dirty", action="store_true", help="take changes that are not committed, too")


def _import(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="a result folder of ShinkaEvolve or OpenEvolve")
    parser.add_argument("--name", metavar="RUN", help="folder under ./runs (default: task, suite and time)")
    parser.add_argument("--task", metavar="T", help="the task that scores the programs: built in, or a task's folder")
    parser.add_argument("--suite", metavar="S", help="the suite to score on (default: the task's own)")
    parser.add_argument("--workers", type=positive, metavar="W", help="evaluator processes (default: the cores)")
    _sandbox(parser)


def _doctor(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--endpoint",
        nargs="?",
        const="",
        metavar="CONFIG.yaml",
        help="also ask each model of a configuration the first question of a run, at the cost of one answer",
    )
    _models(parser, "with --endpoint: only this model; may be repeated")
    parser.add_argument(
        "--task", metavar="T", help="check a task instead (its folder): is it sound, is anything missing?"
    )
    parser.add_argument(
        "--workers",
        metavar="ADDRESS",
        help="check a cluster instead (dask://HOST:PORT): which workers would evaluate programs of the task?",
    )
    _json(parser)


def _models(parser: argparse.ArgumentParser, meaning: str) -> None:
    """Which models, and their server."""
    parser.add_argument("--model", action="append", default=[], dest="models", metavar="M", help=meaning)
    parser.add_argument(
        "--base-url",
        metavar="URL",
        help="the server of the models of --model: any OpenAI-compatible one (http://localhost:8000/v1)",
    )
    parser.add_argument(
        "--api-key-env",
        metavar="VARIABLE",
        help="the environment variable of its key (--base-url alone sends no key)",
    )


def _json(parser: argparse.ArgumentParser, what: str = "as JSON on stdout") -> None:
    parser.add_argument("--json", action="store_true", help=what)


def _of_a_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_name", metavar="RUN", help=_RUN)


def _of_a_foreign_task(
    parser: argparse.ArgumentParser, trust: str = "load the task folder that somebody else's run names"
) -> None:
    parser.add_argument("--task", metavar="FOLDER", help="the present folder of the run's own task")
    parser.add_argument("--trust", action="store_true", help=trust)


def _of_a_program(parser: argparse.ArgumentParser) -> None:
    _of_a_run(parser)
    parser.add_argument("program", metavar="PROGRAM", help=_PROGRAM)


def _output(parser: argparse.ArgumentParser, meaning: str) -> None:
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help=meaning)
    parser.add_argument("--force", action="store_true", help="overwrite FILE if it exists")


def _sandbox(parser: argparse.ArgumentParser) -> None:
    """How well programs must be confined. Only the command line can lift the sandbox, never a file."""
    parser.add_argument(
        "--require-level",
        choices=("standard", "strong"),
        metavar="L",
        help="the lowest sandbox level to accept: standard or strong",
    )
    parser.add_argument(
        "--unsafe-no-sandbox",
        action="store_true",
        help="run programs even if this machine cannot confine them: only for programs that you trust",
    )


def _limits(parser: argparse.ArgumentParser) -> None:
    """The limits of a run; `resume` changes them."""
    parser.add_argument(
        "--generations", type=int, metavar="N", help="stop at N proposals in all sessions (new run: 100)"
    )
    parser.add_argument("--minutes", type=float, metavar="M", help="stop after M minutes of this session")
    parser.add_argument("--budget-usd", type=float, metavar="X", help="stop before the run costs more than X")
    parser.add_argument("--budget-tokens", type=int, metavar="N", help="stop before the run uses more than N tokens")
    parser.add_argument("--budget-calls", type=int, metavar="N", help="stop after N requests to models")
    parser.add_argument("--parallel", type=int, metavar="K", help="proposals at a time; 1 makes a run repeatable")
    parser.add_argument(
        "--workers",
        type=_number_or_address,
        metavar="W",
        help="evaluator processes, or a cluster: dask://HOST:PORT, dask:local:4",
    )


def _of_a_session(parser: argparse.ArgumentParser, settings: str) -> None:
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", dest="settings", help=f"{settings}; may be repeated"
    )
    _sandbox(parser)
    parser.add_argument(
        "--tuning-baseline",
        type=positive,
        metavar="K",
        help="at the end, tune the initial program's numbers for comparison, with as many evaluations as K proposals",
    )
    parser.add_argument("--view", action="store_true", help="show the run in a browser while this command lasts")


def _number_or_address(text: str) -> int | str:
    """A number if it is one, else the text: the configuration checks both."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else text


def positive(text: str) -> int:
    """A whole number above 0, as an argument. Raises ArgumentTypeError."""
    return _whole(text, 2**63, "not a whole number above 0")


def _whole(text: str, most: int, wrong: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text[:20]) <= most):
        raise argparse.ArgumentTypeError(f"{text!r} is {wrong}")
    return int(text)


def _fresh_instances(text: str) -> int:
    return _whole(text, _MOST_FRESH, f"not a whole number from 1 to {_MOST_FRESH}")


def _port(text: str) -> int:
    return _whole(text, 65535, "no port: a number from 1 to 65535")


def _decimal(text: str) -> str:
    """A finite number, as it was typed: its digits count. Raises ArgumentTypeError."""
    from decimal import Decimal, InvalidOperation  # one option of one command needs it

    try:
        number = Decimal(text if math.isfinite(float(text)) else "")
    except (ValueError, InvalidOperation):
        number = None
    # Floats end within these exponents. Exact arithmetic on others, such as 1e-999999999, fills the memory.
    if number is None or not -400 <= int(number.as_tuple().exponent) <= 400:
        raise argparse.ArgumentTypeError(f"{text[:60]!r} is not a finite number such as 2.6359")
    return text.strip()


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.1 <= value <= _MOST_SECONDS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds from 0.1 to {_MOST_SECONDS:g}")
    return value


def _worker(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("address", metavar="ADDRESS", help="the scheduler: dask://HOST:PORT (dask+tls:// with TLS)")
    parser.add_argument("--name", metavar="NAME", help="the worker's name (default: this machine and a number)")
    for name, meaning in (("ca", "authority"), ("cert", "certificate"), ("key", "key of the certificate")):
        parser.add_argument(f"--tls-{name}", type=Path, metavar="FILE", help=f"for dask+tls://: the {meaning} (PEM)")
    parser.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="VARIABLE",
        help="a variable of this shell that the task's script needs; may be repeated",
    )


COMMANDS: Final[dict[str, tuple[str, Callable[[argparse.ArgumentParser], None]]]] = {
    "run": ("evolve programs for a task", _run),
    "resume": ("go on with a run where it stopped", _resume),
    "score": ("score any program", _score),
    "patch": ("apply a model's answer to a program", _patch),
    "tune": ("search the numbers of a program for better ones", _tune),
    "list": ("the runs, or the programs of a run", _list),
    "show": ("one program of a run", _show),
    "diff": ("what changed between two programs", _diff),
    "lineage": ("the lineage of a program, step by step", _lineage),
    "compare": ("runs side by side: medians, intervals, a test", _compare),
    "experiment": ("several configurations and seeds at equal budgets", _experiment),
    "note": ("add a note to a program of a run", _note),
    "insights": ("the insights report of a run", _insights),
    "export": ("write a program, its answers, or a table to a file", _export),
    "apply": ("put a program on a new branch of its repository", _apply),
    "report": ("runs as one HTML file, to look at and to send", _report),
    "view": ("runs as live pages in a browser", _view),
    "replay": ("score a program again and compare with the record", _replay),
    "audit": ("score every claim of a run, folder or answer again", _audit),
    "rerun": ("repeat a whole run from its record, and compare", _rerun),
    "place": ("place models on a real cluster, by discovered programs", _place),
    "worker": ("evaluate programs for a run on another machine", _worker),
    "bounds": ("the proven bounds of a suite; prove them again", _bounds),
    "import": ("make a run of a result folder of ShinkaEvolve or OpenEvolve", _import),
    "new": ("make a small task of your own that runs at once", _new),
    "doctor": ("test this machine, and whether a task is sound", _doctor),
}
"""The summary of each command, and the function that declares its arguments."""
