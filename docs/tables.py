"""Measures what the tables of `programs/README.md` show, and draws them: `python docs/tables.py [TASK[/SUITE] ...]`.

Every suite named (default: all of them) gets its initial program and its baselines scored in the sandbox, its bound and
its best known value read from the task, and its offline runs read from a folder. Programs in `families/` have a table
of their own: one is scored again only when it, or the evaluator, changed (`docs/families.py`). All of it is kept in
`programs/measured.json`, from which `docs/generate.py` draws the tables.

Offline runs take hours: only `--search` begins or resumes what is missing. Without it, a suite keeps the results in
`measured.json` for seeds without a finished run; those of another evaluator or other instances are refused.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from math import isclose
from pathlib import Path
from typing import Any, Final

from tests.builders import one_file

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import families  # noqa: E402
import generate  # noqa: E402
import offline_runs  # noqa: E402
from offline_runs import NotUsable  # noqa: E402
from task_table import DATA, OURS  # noqa: E402

from evaluator.certificate import judge_again  # noqa: E402
from evaluator.errors import EvaluatorError  # noqa: E402
from evaluator.evaluation import Evaluation, Outcome  # noqa: E402
from evaluator.opening import open_evaluator  # noqa: E402
from evaluator.task import Suite, Task  # noqa: E402
from evaluator.task_files import built_in_tasks, load_task  # noqa: E402
from evaluator.version import version_of  # noqa: E402
from evolve.core.errors import EvolveError, InputError  # noqa: E402
from evolve.core.files import read_source, read_text  # noqa: E402
from evolve.review.verdict import peers_of  # noqa: E402

_CLOSE: Final = 1e-9
"""The relative distance to a value of the table that is no difference: floats round, and packages have versions."""
_SOLVER: Final = f"{OURS} solver, whose answers are shipped with the bounds"


def facts(task: Task, suite: Suite) -> dict[str, Any]:
    """A suite and what the task says about it; no program is run."""
    answers = {at.index: at.best_answer for at in suite.instances if at.best_answer is not None}
    shipped = judge_again(task, suite, answers)
    return {
        "held_out_of": [name for name in task.suites if task.suite(name).held_out == suite.name],
        "task_digest": task.digest,
        "suite_digest": suite.digest,
        "instances": len(suite.instances),
        "proven": sum(instance.proven for instance in suite.instances),
        "best_known": _best_known(shipped),
        "bound": shipped.value_bound,
    }


def _best_known(shipped: Evaluation) -> dict[str, Any] | None:
    """The best listed value, or that of the answers shipped with the bounds if it is better."""
    known, value = shipped.best_known, shipped.value if shipped.correct else None
    gain = None if known is None else shipped.objective.gap(known.value, value)
    if value is not None and (gain is None or gain > 0):
        return {"value": value, "source": _SOLVER}
    return None if known is None else {"value": known.value, "source": known.where_from}


def scores(task: Task, suite: Suite) -> dict[str, Any]:
    """The initial program and every baseline, scored in the sandbox."""
    values: dict[str, Any] = {}
    with open_evaluator(task, suite, workers=1) as evaluator:
        for path in peers_of(task).values():
            evaluation = evaluator.evaluate(one_file(read_source(path)))
            failed = sum(result.outcome is not Outcome.OK for result in evaluation.results)
            if evaluation.quarantine is not None:
                raise InputError(f"{path}: quarantined on {task.name}/{suite.name}: {evaluation.quarantine}")
            values[path.stem] = {"value": evaluation.value, "failed": failed}
    return values


def offline(task: Task, suite: Suite, runs: Path, kept: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The results of the offline runs of a suite, one per seed: from its run, otherwise the kept one."""
    by_seed, results = {result["seed"]: result for result in kept}, []
    for seed in offline_runs.SEEDS:
        where = offline_runs.folder_of(runs, task, suite, seed)
        try:
            results.append(offline_runs.result(runs, task, suite, seed))
            continue
        except NotUsable as why:
            if where.exists():
                _tell(f"{where}: not used: {why}")
        if seed in by_seed:
            refused = offline_runs.why_refused(by_seed[seed], task, suite)
            if refused is None:
                results.append(offline_runs.without_stale_held_out(by_seed[seed], task))
            else:
                _tell(f"{DATA}: the result of {where.name} is refused: {refused}; --search measures it again")
    return results


def measure(chosen: Mapping[str, Sequence[str]], known: Mapping[str, Any], runs: Path) -> dict[str, Any]:
    """The data of all tasks: measured again for the chosen suites, otherwise as `known`."""
    data = {}
    for name in built_in_tasks():
        task, before = load_task(name), known.get(name, {}).get("suites", {})
        suites = {}
        for suite_name in _in_order(task):
            kept = before.get(suite_name)
            if suite_name in chosen.get(name, ()):
                suite = task.suite(suite_name)
                _tell(f"{name}/{suite_name}")
                described = facts(task, suite)
                results = (
                    [] if described["held_out_of"] else offline(task, suite, runs, (kept or {}).get("offline", ()))
                )
                version = {"evaluator_version": version_of(task, suite)}
                suites[suite_name] = {**described, **version, "programs": scores(task, suite), "offline": results}
                before_this = (kept or {}).get("families", {})
                complete = families.measured(task, suite, before_this, partial(_keep, name, suite_name))
                suites[suite_name] |= {"families": complete} if complete else {}
            elif kept is not None:
                suites[suite_name] = kept
        objective = {key: task.objective.to_json()[key] for key in ("metric", "direction", "unit")}
        ingredients = offline_runs.ingredients_digest(task)
        data[name] = {"objective": objective, "ingredients": ingredients, "suites": suites}
    return data


def differences(chosen: Mapping[str, Sequence[str]], known: Mapping[str, Any]) -> list[str]:
    """A sentence for each difference between the data and the tasks and evaluator of now: the facts of every suite, and
    the programs of the chosen ones. Complete programs are compared with their files, offline results with the evaluator
    that measured the table."""
    outdated = [f"{name}: there is no such task" for name in known if name not in built_in_tasks()]
    for name in built_in_tasks():
        task, before = load_task(name), known.get(name, {}).get("suites", {})
        outdated += [f"{name}/{suite}: there is no such suite" for suite in before if suite not in task.suites]
        for suite_name in task.suites:
            where, suite = f"{name}/{suite_name}", task.suite(suite_name)
            if suite_name not in before:
                outdated.append(f"{where}: not in the table")
                continue
            kept = before[suite_name]
            outdated += _differing(where, facts(task, suite), kept)
            for result in kept["offline"]:
                if any(result[key] != kept[key] for key in ("evaluator_version", "suite_digest")):
                    outdated.append(f"{where}: the offline result of seed {result['seed']} is another evaluator's")
            stale = families.outdated(task, suite, kept.get("families", {}))
            outdated += [f"{where}.{program}: {why}" for program, why in stale.items()]
            if suite_name in chosen.get(name, ()):
                outdated += _differing(where, {"programs": scores(task, suite)}, kept)
    return outdated


def _differing(where: str, now: object, kept: object) -> list[str]:
    """Where two pieces of data differ, each with its place."""
    if isinstance(now, Mapping) and isinstance(kept, Mapping):
        lacking = [f"{where}.{key}: it is gone" for key in kept if key not in now and where.endswith(".programs")]
        return lacking + [text for key in now for text in _differing(f"{where}.{key}", now[key], kept.get(key))]
    if isinstance(now, float) and isinstance(kept, float):
        same = isclose(now, kept, rel_tol=_CLOSE)
    else:
        same = now == kept
    return [] if same else [f"{where}: {now} now, {kept} in the table"]


def _in_order(task: Task) -> list[str]:
    """The suites in the order of the task, each held-out suite behind the last suite that names it."""
    held_out = {name: task.suite(name).held_out for name in task.suites}
    plain = [name for name in task.suites if name not in held_out.values()]
    ordered = []
    for place, name in enumerate(plain):
        ordered.append(name)
        own = held_out[name]
        if own is not None and own not in [held_out[later] for later in plain[place + 1 :]]:
            ordered.append(own)
    return ordered


def _chosen(words: Sequence[str]) -> dict[str, list[str]]:
    """The suites that `TASK` and `TASK/SUITE` name, by task; all of them without a name."""
    chosen: dict[str, list[str]] = {}
    for word in words or built_in_tasks():
        name, _, suite = word.partition("/")
        if name not in built_in_tasks():
            raise InputError(f"{word}: there is no task {name!r} (there is: {', '.join(built_in_tasks())})")
        task = load_task(name)
        chosen.setdefault(name, []).extend([task.suite(suite).name] if suite else task.suites)
    return chosen


def _search(chosen: Mapping[str, Sequence[str]], runs: Path) -> int:
    """Make the runs that are missing or unfinished; stops at the first one that is interrupted."""
    for name, suites in chosen.items():
        task = load_task(name)
        held_out = {task.suite(suite).held_out for suite in task.suites}
        for suite in (suite for suite in suites if suite not in held_out):
            for seed in offline_runs.SEEDS:
                if offline_runs.search(runs, task, task.suite(suite), seed) == 130:
                    return 130
    return 0


def _known() -> dict[str, Any]:
    """The kept data, empty before the first time. Raises InputError if it is not JSON (an unresolved merge, say)."""
    try:
        data: dict[str, Any] = json.loads(read_text(DATA)) if DATA.exists() else {}
    except json.JSONDecodeError as cause:
        raise InputError(f"{DATA}: not JSON ({cause}); resolve the merge, then measure again: make tables") from None
    return data


def _keep(task: str, suite: str, results: Mapping[str, Any]) -> None:
    """Write the results of the complete programs so far, if the suite is on record already."""
    data = _known()
    if suite in data.get(task, {}).get("suites", {}):
        data[task]["suites"][suite]["families"] = dict(results)
        DATA.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


def _tell(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def main() -> int:
    """Measure and draw, or (--check) list what is out of date. Returns 0 done, 1 out of date, 130 interrupted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*", metavar="TASK[/SUITE]", help="what to measure (default: everything)")
    parser.add_argument("--runs", type=Path, default=ROOT / "runs" / "tables", help="folder of the offline runs")
    parser.add_argument("--search", action="store_true", help="first make the runs that are missing (hours)")
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 where the table is out of date")
    arguments = parser.parse_args()
    if arguments.check and arguments.search:
        parser.error("--check changes nothing: it does not go with --search")
    chosen = _chosen(arguments.suites)
    if arguments.check:
        outdated = differences(chosen, _known())
        sys.stdout.write("".join(f"out of date: {line} (make tables)\n" for line in outdated))
        return 1 if outdated else 0
    if arguments.search and (code := _search(chosen, arguments.runs)):
        return code
    data = measure(chosen, _known(), arguments.runs)
    DATA.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    generate.write(check=False)
    return 0


if __name__ == "__main__":
    try:
        raise SystemExit(main())
    except (EvolveError, EvaluatorError) as error:
        _tell(f"tables: {error}")
        raise SystemExit(error.exit_code) from None
    except KeyboardInterrupt:
        _tell("tables: interrupted")
        raise SystemExit(130) from None
