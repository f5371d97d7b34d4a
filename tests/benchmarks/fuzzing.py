"""The surfaces of `tests.benchmarks.fuzz`: for each, how a case is drawn, read, and held to be right.

A case returns a word for how it ended; it raises what is no named error of the reader, and `Wrong` when what was
read is not true.
"""

import contextlib
import copy
import itertools
import json
import random
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from evaluator.errors import TaskError
from evaluator.sandbox import protocol
from evaluator.task import Task
from evaluator.task_files import load_task
from evaluator.untrusted import block, one_line
from evaluator.yaml_file import parse_mapping
from evolve.archive.reader import RunReader
from evolve.archive.reports import Round, markdown
from evolve.core.completion import ANSWER_LIMIT, Completion, UnusableAnswer, text_of
from evolve.core.config import build_config
from evolve.core.errors import EvolveError, InputError, PatchError, ProgramError
from evolve.core.program import PatchKind, check_program, normalised_hash
from evolve.core.python_source import MAX_SOURCE_BYTES, parsed
from evolve.core.usage import NOTHING
from evolve.insights.answers import read_insights, read_summaries
from evolve.lang.languages import PYTHON
from evolve.patch import apply_patch, make_patch, parse_patch
from evolve.patch.features import features
from evolve.propose.reply import Reply
from tests.benchmarks.hostile_text import bomb, mutated, mutated_bytes, noise, value
from tests.journals import events_of, sealed
from tests.loop.climbing import finish
from tests.loop.killing import scripted
from tests.propose.asking import read
from tests.reports import report

NONCE: Final = "0123456789abcdef"


class Wrong(Exception):
    """Raised when something was read that is not true."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface:
    """`share` of all cases; `prepare` is called once, with a folder that the cases find as it was left."""

    share: int
    case: Callable[[random.Random, Path], str]
    prepare: Callable[[Path], None] = lambda folder: None


@cache
def placement() -> Task:
    return load_task("placement")


@cache
def programs() -> tuple[str, ...]:
    """Programs to begin from: the one that ships, and as one of Windows."""
    initial = placement().initial.read_text("utf-8")
    return initial, initial.replace("\n", "\r\n")


# -- what a candidate sends ------------------------------------------------------------------------------------------


def frame(rng: random.Random, folder: Path) -> str:
    """Bytes on the reply pipe, then the judge on whatever answer they hold."""
    instance = placement().suite("adrs").instances[rng.randrange(50)]
    honest: Any = [[] for _ in range(instance.data["gpu_num"])]
    for model in range(len(instance.data["models"])):
        rng.choice(honest).append(model)
    kind = rng.randrange(4)
    answer = value(rng) if kind == 0 else honest
    if kind == 1:
        answer[rng.randrange(len(answer))] = value(rng)
    whole: Any = {"nonce": NONCE, "answer": answer}
    if kind == 2:
        whole = {"nonce": NONCE, "error": {"kind": "call", "type": value(rng), "message": "", "lines": value(rng)}}
    payload = json.dumps(whole, default=str).encode("utf-8", "surrogatepass")
    received = protocol.framed(payload) if rng.random() < 0.9 else payload
    if rng.random() < 0.6:
        received = mutated_bytes(rng, received)
    try:
        found = protocol.payload_of(received)
        if found is None:
            return "incomplete"
        reply = protocol.reply_of(found, NONCE)
    except protocol.ProtocolError:
        return "refused"
    if reply.fault is not None:
        one_line(reply.fault.message), block(reply.fault.message)
        return "fault"
    verdict = placement().judge.judge(instance, reply.answer)
    if verdict.cost is not None and instance.bound is not None and verdict.cost < instance.bound:
        raise Wrong(f"cost {verdict.cost} below the bound {instance.bound}")
    return verdict.outcome.value


# -- what a model sends ----------------------------------------------------------------------------------------------


def answer(rng: random.Random, folder: Path) -> str:
    """A patch, from the text to the program, its hash and its features, and the patch made back of it."""
    parent = rng.choice(programs())
    lines = parent.splitlines()
    search = "\n".join(lines[(start := rng.randrange(len(lines))) : start + rng.choice((0, 1, 1, 2, 5, 40))])
    replace = rng.choice((search + "\nx = 1", "", bomb(rng, 3000), mutated(rng, search)))
    blocks = f"<<<<<<< SEARCH\n{search}\n=======\n{replace}\n>>>>>>> REPLACE\n"
    text = (
        f"<NAME>{noise(rng, 30)}</NAME>\n<DESCRIPTION>{noise(rng, 100)}</DESCRIPTION>\n<DIFF>\n"
        + blocks * min(rng.choice((1, 1, 2, 20, 300)), 1 + ANSWER_LIMIT // len(blocks))
        + "</DIFF>\n"
    )
    kind = rng.randrange(5)
    if kind == 0:
        text = f"<NAME>n</NAME><DESCRIPTION>d</DESCRIPTION><CODE>\n{bomb(rng, MAX_SOURCE_BYTES)}\n</CODE>"
    elif kind == 1:
        text = bomb(rng, ANSWER_LIMIT)
    elif kind == 2:
        text = mutated(rng, text)
    try:
        patch = parse_patch(text[:ANSWER_LIMIT], rng.choice(list(PatchKind)))
        source = apply_patch(patch, parent)
        normalised_hash(source)
    except PatchError:
        return "refused"
    except ProgramError:
        return "refused as a program"
    features(parent, source)
    return "applied" if round_trip(parent, source) else "inexpressible"


def round_trip(parent: str, source: str) -> bool:
    """Whether a patch can be made that leads from one program to the other; it must do so."""
    try:
        parsed(source)
        made = make_patch(parent, source, name="again", description="")
    except (PatchError, ProgramError):
        return False
    if apply_patch(parse_patch(made, PatchKind.DIFF), parent) != source:
        raise Wrong("the patch that was made of it leads elsewhere")
    return True


def program(rng: random.Random, folder: Path) -> str:
    """A program that somebody wrote: checked, hashed, its features read."""
    parent = programs()[0]
    source = bomb(rng, MAX_SOURCE_BYTES) if rng.random() < 0.5 else mutated(rng, parent)
    if rng.random() < 0.3:
        source = f"# EVOLVE-BLOCK-START\n{source}\n# EVOLVE-BLOCK-END\ndef solve():\n    pass\n"
    features(parent, source)
    with contextlib.suppress(ProgramError):
        check_program(source, language=PYTHON, entry_point="solve", name="program.py")
    try:
        normalised_hash(source)
    except ProgramError:
        return "refused"
    if len(source.encode("utf-8", "surrogatepass")) <= MAX_SOURCE_BYTES and round_trip(parent, source):
        return "patched"
    return "hashed"


def reply(rng: random.Random, folder: Path) -> str:
    """The body of an HTTP answer, as bytes."""
    message = {"content": rng.choice((noise(rng, 200), value(rng), "<think>" * 2000, [{"text": "x"}, value(rng)]))}
    message |= {rng.choice(("reasoning", "refusal", "reasoning_content", "role")): value(rng)}
    body: Any = {"choices": [{"message": message, "finish_reason": value(rng)}], "usage": value(rng)}
    if rng.random() < 0.3:
        body = value(rng)
    raw = json.dumps(body, default=str).encode("utf-8", "surrogatepass")
    answer = read(mutated_bytes(rng, raw) if rng.random() < 0.5 else raw)
    if isinstance(answer, Reply):
        answer.text.encode("utf-8")
        return "read"
    return "unreadable"


def meta(rng: random.Random, folder: Path) -> str:
    """A meta answer: read as what was asked for; what is read is put into a report, which must be read as it was."""
    text = bomb(rng, ANSWER_LIMIT) if rng.random() < 0.4 else mutated(rng, META)
    completion = Completion(text=text, finish_reason="stop", usage=NOTHING)
    made = report({}, recommendations=(f"x {noise(rng, 200)}", f"x {mutated(rng, META)}"), warning=noise(rng, 80))
    ending = "refused"
    try:
        answer_text = text_of(completion)
        notes, advice = read_insights(answer_text)
        ending = "read"
        summary = read_summaries(answer_text, [1]).get(1)
        text = "" if summary is None else summary.implementation
        made = report({}, summaries={1: text}, sections=notes[1:], recommendations=advice)
    except UnusableAnswer:
        pass
    ended = Round(report=made)
    if Round.model_validate(json.loads(json.dumps(ended.model_dump(mode="json")))) != ended:
        raise Wrong("a report says something else when it is read again")
    if markdown(made).count("\n# ") != 2 + bool(made.warning):
        raise Wrong("a report holds a heading that is not its own")
    return ending


META: Final = """\
**Program Name: A Step**
- **Implementation**: steps.
- **Performance**: 26.2 in generation 4.
- **Feedback**: go on.

## Successful Algorithmic Patterns
- steps (generation 3)
## Ineffective Approaches
- none
## Implementation Insights
- none
## Performance Analysis
- it rises

1. **Go on**: take another step.
2. **Wait**: take a shorter one.
"""


# -- what stands on the disk -------------------------------------------------------------------------------------------


def make_archive(folder: Path) -> None:
    """A run with programs, refusals, failures and insights reports."""
    (folder / "made").mkdir()
    finish(folder / "made", "run", scripted(folder / "made", parallel=1, generations=24), "--name", "r")
    shutil.copy(folder / "made" / "runs" / "r" / "journal.jsonl", folder / "journal.jsonl")
    facts = {
        record.generation: [record.commit, record.combined_score, record.correct]
        for record in RunReader.open(folder / "made" / "runs" / "r").programs
    }
    (folder / "facts.json").write_text(json.dumps(facts), encoding="utf-8")


@cache
def read_facts(folder: Path) -> Mapping[str, Sequence[Any]]:
    found: Mapping[str, Sequence[Any]] = json.loads((folder / "facts.json").read_text("utf-8"))
    return found


@cache
def journal_bytes(folder: Path) -> bytes:
    return (folder / "journal.jsonl").read_bytes()


def journal(rng: random.Random, folder: Path) -> str:
    """A journal with flipped bits, lines that are gone, doubled or swapped, a cut end, or garbage."""
    run, whole = folder / "made" / "runs" / "r", journal_bytes(folder)
    (run / "journal.jsonl").write_bytes(damaged(rng, whole))
    return read_archive(run, folder)


def damaged(rng: random.Random, whole: bytes) -> bytes:
    """The bytes of a journal, damaged in one to three ways."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        lines = whole.splitlines(keepends=True)
        kind, place = rng.randrange(7), rng.randrange(max(1, len(whole)))
        if kind <= 1:
            whole = whole[:place] + bytes([whole[place] ^ 1 << rng.randrange(8)]) + whole[place + 1 :]
        elif kind == 2:
            whole = whole[:place]
        elif kind == 3 and len(lines) > 1:
            del lines[rng.randrange(len(lines))]
            whole = b"".join(lines)
        elif kind == 4 and len(lines) > 1:
            one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
            lines[one], lines[other] = lines[other], lines[one]
            whole = b"".join(lines)
        elif kind == 5 and lines:
            lines.insert(rng.randrange(len(lines)), rng.choice(lines))
            whole = b"".join(lines)
        else:
            whole = mutated_bytes(rng, whole)
        if not whole:
            break
    return whole


def record(rng: random.Random, folder: Path) -> str:
    """A journal with any value in any field, sealed again, as a forger would."""
    run = folder / "made" / "runs" / "r"
    events = copy.deepcopy(read_events(folder))
    for _ in range(rng.choice((1, 1, 2))):
        place: Any = rng.choice(events)
        while True:
            key = rng.choice(list(place) if isinstance(place, dict) else range(len(place)))
            inner = place[key]
            if not isinstance(inner, dict | list) or not inner or rng.random() < 0.3:
                break
            place = inner
        place[key] = rng.choice((value(rng), rng.choice((1e9, -1e9, 1.0)) if isinstance(inner, float) else value(rng)))
    try:
        whole = sealed(events)
    except (ValueError, TypeError, RecursionError):
        return "cannot be written"
    (run / "journal.jsonl").write_bytes(whole)
    return read_archive(run, None)


@cache
def read_events(folder: Path) -> list[dict[str, Any]]:
    return list(events_of(folder / "journal.jsonl"))


def read_archive(run: Path, folder: Path | None) -> str:
    """Open it and look at everything; every program in it must be as it was recorded in `folder`, if that is given."""
    try:
        with RunReader.open(run) as archive:
            for record in archive.programs:
                seen = [record.commit, record.combined_score, record.correct]
                if folder is not None and read_facts(folder).get(str(record.generation)) != seen:
                    raise Wrong(f"generation {record.generation} is not what was recorded")
                if record.correct and record.ceiling is not None and record.combined_score > record.ceiling + 1e-6:
                    raise Wrong(f"generation {record.generation} is above its ceiling")
            if archive.best is not None:
                archive.files(archive.best).only, archive.evaluation(archive.best)
            for generation in range(archive.next_generation):
                archive.attempts(generation)
            archive.fingerprint()
            build_config(parse_mapping(archive.config_text(), "run.yaml"), origin="run.yaml")
    except (EvolveError, TaskError):
        return "refused"
    return "read"


def archive_file(rng: random.Random, folder: Path) -> str:
    """Any other file of an archive, damaged."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        run = Path(place) / "r"
        shutil.copytree(folder / "made" / "runs" / "r", run)
        files = sorted(path for path in run.rglob("*") if path.is_file() and path.name != "journal.jsonl")
        for _ in range(rng.choice((1, 1, 3))):
            chosen = rng.choice(files)
            chosen.chmod(0o644)
            damage = mutated_bytes(rng, chosen.read_bytes() or b"x"), noise(rng, 4000).encode("utf-8", "replace"), b""
            chosen.write_bytes(rng.choice(damage))
        return read_archive(run, folder)


def configuration(rng: random.Random, folder: Path) -> str:
    """A configuration, as text."""
    lines = ["task: placement", "generations: 5", "models: [{model: m, base_url: 'http://h'}]", "search: {elites: 3}"]
    key = rng.choice(("seed", "limits", "models", "search", "budget_usd", "x"))
    lines.append(f"{key}: {json.dumps(value(rng), default=str)}")
    text = "\n".join(rng.sample(lines, rng.randrange(1, len(lines) + 1)))
    kind = rng.randrange(4)
    if kind == 0:
        text = mutated(rng, text)
    elif kind == 1:
        names = [f"a{number}" for number in range(rng.randrange(2, 40))]
        text = "a0: &a0 [x, x]\n" + "\n".join(
            f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]" for before, name in itertools.pairwise(names)
        )
    elif kind == 2:
        text = bomb(rng, 100_000)
    text = text.encode("utf-8", "replace").decode("utf-8")  # what a file can hold
    try:
        build_config(parse_mapping(text, "c.yaml", error=InputError), origin="c.yaml")
    except (EvolveError, TaskError):
        return "refused"
    return "read"


SURFACES: Final[Mapping[str, Surface]] = {
    "frames": Surface(share=30, case=frame),
    "answers": Surface(share=15, case=answer),
    "programs": Surface(share=12, case=program),
    "replies": Surface(share=15, case=reply),
    "meta": Surface(share=5, case=meta),
    "journals": Surface(share=12, case=journal, prepare=make_archive),
    "records": Surface(share=12, case=record, prepare=make_archive),
    "archives": Surface(share=3, case=archive_file, prepare=make_archive),
    "configs": Surface(share=8, case=configuration),
}
