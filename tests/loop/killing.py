"""Runs that are killed at random moments, and what must hold of them however often they were."""

import os
import random
import signal
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evaluator.task_files import load_task
from evolve.archive.reader import RunReader
from evolve.loop.session import stored_config
from evolve.opening import open_models
from evolve.search.strategies import open_search, recall
from tests.loop.climbing import configure, events, in_fork, kill, opened, patch, script

# Three answers that climb, over and over, so that some programs come twice; refusals, one repaired and one for good; a
# program that fails; calls that fail, one alone, two in a row, and the last.
STEPS = (1, 2, 3)
META: dict[str, Any] = {
    "summaries": "\n".join(
        f"## Generation {generation}\n**Program Name: A Step**\n- **Implementation**: steps.\n"
        "- **Performance**: it rose.\n- **Feedback**: go on.\n"
        for generation in range(1, 100)
    ),
    "insights": "## Successful Algorithmic Patterns\n- steps\n## Ineffective Approaches\n- none\n"
    "## Implementation Insights\n- none\n## Performance Analysis\n- it rises\n"
    "## Recommendations\n1. **Go on**: take another step.\n2. **Wait**: take a shorter one.\n",
}


def answers(generations: int) -> list[Any]:
    """What the scripted model answers."""
    found: list[Any] = [patch(STEPS[number % 3], name=f"step_{number}") for number in range(1, generations + 1)]
    found[3] = {"error": "timeout"}
    found[5] = ["Let us talk.", patch(2, name="repaired")]
    found[7] = "Nothing comes to mind."
    found[8] = patch("OFFSET = None", name="broken")
    found[10] = found[11] = {"error": "connection"}
    found[-1] = {"error": "timeout"}
    return found


def scripted(folder: Path, *, parallel: int, generations: int = 24) -> str:
    """The configuration of a run with the scripted model and insights reports, one of which cannot be had."""
    metas = [META, META | {"insights": {"error": "timeout"}}, META, META, META]
    kinds = {"diff": 0.6, "full": 0.0, "cross": 0.2, "fix": 0.2}
    return configure(
        folder,
        models=[script(folder, answers(generations), metas)],
        generations=generations,
        parallel=parallel,
        workers=min(2, parallel),
        meta_every=4,
        search={"elites": 4, "kinds": kinds},
    )


def offline(folder: Path, *, parallel: int, generations: int = 24, **keys: Any) -> str:
    """The configuration of a run with the offline proposer and its documents."""
    return configure(
        folder,
        generations=generations,
        parallel=parallel,
        workers=min(2, parallel),
        meta_every=4,
        search={"elites": 6},
        **keys,
    )


@dataclass(slots=True, kw_only=True)
class Killed:
    """What became of one run: when each kill came (in seconds, with the number of events then), and what is wrong."""

    kills: list[tuple[float, int]] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    choices: int = 0
    lost: int = 0


def run_through(folder: Path, config: str) -> tuple[str, tuple[float, float]]:
    """The run `r`, uninterrupted: its fingerprint, and the seconds until it began and until its end."""
    began = time.monotonic()
    process = in_fork(folder, "run", config, "--name", "r")
    while process.exitcode is None and not events(folder):
        time.sleep(0.005)
    start = time.monotonic() - began
    process.join(120)
    took = start, time.monotonic() - began
    assert process.exitcode == 0, (folder / "out.txt").read_text()
    with opened(folder) as archive:
        return archive.fingerprint(), took


def kill_and_resume(
    folder: Path, config: str, *, kills: int, group: bool, seconds: tuple[float, float], chance: random.Random
) -> Killed:
    """The run `r`, killed so often (less if it is quicker) at random moments, and resumed to its end. Uninterrupted it
    begins and ends after that many seconds; each session has a part of that, so that one is left to kill."""
    start, end = seconds
    killed = Killed()
    while True:
        known = (folder / "runs" / "r").exists()  # else it was killed before it had begun
        words = ["resume", "r"] if known else ["run", config, "--name", "r"]
        process = in_fork(folder, *words, own_group=group)
        if len(killed.kills) < kills:
            moment = chance.uniform(0, end) if kills == 1 else start * 0.8 + chance.uniform(0, end / kills)
            process.join(moment)
            if process.exitcode is None:
                _kill(process, group=group)
                killed.kills.append((moment, len(events(folder))))
                continue
            break  # it was quicker
        process.join(120)
        break
    if process.exitcode != (expected := exit_code_of_last_session(events(folder))):
        output = (folder / "out.txt").read_text()[-500:]
        killed.wrong.append(f"exit {process.exitcode} instead of {expected}: {output}")
        return killed
    for check in (each_ends_once, no_answer_is_asked_for_again, rounds_are_taken_up):
        killed.wrong += check(events(folder))
    killed.choices, wrong = choices_found_again(folder)
    killed.wrong += wrong
    killed.lost = sum(event["event"] == "lost" for event in events(folder))
    return killed


def _kill(process: Any, *, group: bool) -> None:
    """Kill -9 the process or its group, and see that none of its children is left."""
    below = _descendants(process.pid)
    if group:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:  # it has no group yet
            process.kill()
        process.join()
    else:
        kill(process)
    deadline = time.monotonic() + 20
    while left := [pid for pid in below if _alive(pid)]:
        assert time.monotonic() < deadline, f"processes of a killed run are left: {left}"
        time.sleep(0.01)


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _alive(pid: int) -> bool:
    return _stat(pid)[:1] not in ([], ["Z"], ["X"])


def _descendants(root: int) -> list[int]:
    parents = {int(path.name): _stat(int(path.name)) for path in Path("/proc").glob("[0-9]*")}
    found = [root]
    for process in found:
        found += [child for child, stat in parents.items() if len(stat) > 1 and int(stat[1]) == process]
    return found[1:]


# -- what must hold ----------------------------------------------------------------------------------------------------

Journal = list[dict[str, Any]]


def exit_code_of_last_session(journal: Journal) -> int:
    """1 where models were asked for patches in the last session and none answered, else 0."""
    began = max((place for place, event in enumerate(journal) if event["event"] == "resumed"), default=0)
    session = journal[began:]
    is_asked = any(event["event"] == "called" and event["key"].startswith("patch/") for event in session)
    return int(is_asked and not any(event["event"] == "answered" for event in session))


def no_answer_is_asked_for_again(journal: Journal) -> list[str]:
    """Once an answer is on record nobody is asked for it again, for a patch or for an insights report."""
    wrong, there = [], set[str]()
    for event in journal:
        key = event.get("key") or f"patch/{event.get('generation')}/{event.get('attempt')}"
        if event["event"] in ("answered", "meta_answered"):
            if key in there:
                wrong.append(f"{key} is answered twice")
            there.add(key)
        elif event["event"] in ("asked", "called") and key in there:
            wrong.append(f"{key} is {event['event']} after its answer")
    return wrong


def each_ends_once(journal: Journal) -> list[str]:
    """Every generation that was asked for ends, and in one status. Where the ceiling is reached, what was under way
    next to it is left as it was."""
    asked = {event["generation"] for event in journal if event["event"] == "asked"}
    ends = Counter(
        event["generation"]
        for event in journal
        if event["event"] == "evaluated" or (event["event"] == "refused" and event["final"])
    )
    reasons = [event["reason"] for event in journal if event["event"] == "stopped"]
    fewest = 0 if reasons[-1:] in (["ceiling"], ["unconfirmed"]) else 1
    wrong = [f"generation {n} has {ends[n]} ends" for n in {0, *asked} if not fewest <= ends[n] <= 1]
    commits = Counter(event["commit"] for event in journal if event["event"] == "evaluated")
    return wrong + [f"{commit} is recorded {times} times" for commit, times in commits.items() if times != 1]


def rounds_are_taken_up(journal: Journal) -> list[str]:
    """A round that began is ended before the next begins, and is about the programs that there were when it began."""
    wrong: list[str] = []
    programs: list[int] = []
    begun: list[int] | None = None
    shown = 0
    for event in journal:
        match event["event"]:
            case "evaluated":
                programs.append(event["generation"])
            case "summarising":
                if begun is not None and event["programs"] != shown + len(begun):
                    wrong.append(f"a round over {event['programs']} programs begins within another")
                begun = programs[shown:] if begun is None else begun
            case "meta_answered":
                _, name, step = event["key"].split("/", 2)
                if "closing" in name:
                    continue  # no part of any round: see test_advice
                if begun is None or step not in ("summaries/1/0", "insights/1/0"):
                    wrong.append(f"{event['key']} is asked for outside of its round")
            case "summarised":
                if begun is None or event["programs"] != shown + len(begun):
                    wrong.append(f"a round over {event['programs']} programs ends that did not begin")
                shown = event["programs"] if event["report"] is not None else shown
                begun = None
    return wrong


def choices_found_again(folder: Path, name: str = "r") -> tuple[int, list[str]]:
    """How many choices are on record, and those that are not found again at their position."""
    with opened(folder, name) as archive:
        config = stored_config(archive)
        task = load_task(config.task)
        models = open_models(config, task, task.suite(config.suite))
        settings = models.search_settings(config)
        checked, wrong = 0, []
        for event in archive_events(archive):
            if event["event"] != "asked" or event["attempt"] > 0 or event.get("shortened"):
                continue
            search = open_search(settings)
            recall(search, archive.history(event["position"]))
            choice = search.choose(event["generation"])
            found = {
                "kind": choice.kind.value,
                "island": choice.island,
                "parents": [choice.parent.commit],
                "inspirations": [record.commit for record in choice.inspirations],
                "model": choice.model,
            }
            recorded = {key: event[key] for key in found}
            checked += 1
            if recorded != found:
                wrong.append(f"generation {event['generation']}: {recorded} was recorded, {found} is chosen")
        return checked, wrong


def archive_events(archive: RunReader) -> Journal:
    """The events of an open archive."""
    return events(archive.folder.parent.parent, archive.folder.name)
