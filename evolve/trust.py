"""Trust: what a run's configuration names outside of the package, and whether the run may use it.

An archive may be somebody else's. It can name code that runs as the user, files of the user's disk, and endpoints that
get the user's key. These are used only if the user began the run here, has trusted it, or has typed their name.

The runs that the user began or trusted on this machine are noted under the user's state folder, each in a file that is
named after the random id of the run. The file holds a digest of the named things each time. An archive that was given
away and comes back with another endpoint is not trusted any more. Audits that were made here are noted there, too.
"""

import hashlib
import json
import os
import secrets
import shlex
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from evaluator.task import Task
from evaluator.task_files import built_in_tasks
from evaluator.untrusted import one_line
from evaluator.yaml_file import parse_mapping
from evolve.archive.events import AuditedEvent, document_of
from evolve.archive.reader import RunReader
from evolve.core.config import Config, ModelConfig, build_config
from evolve.core.dotted import is_dotted
from evolve.core.errors import InputError, UntrustedArchive
from evolve.core.invocation import command
from evolve.core.secrecy import variables_in
from evolve.opening import task_of_run

Agree = Callable[[Sequence[str]], bool]
"""Decides whether the things that an archive names may be used."""

_TASK_CODE = "a judge.py in it is Python that runs as you; an evaluator script runs in the sandbox"
"""The warning for every task folder. It does not depend on the folder's files, since a digest of it is noted."""

_UNNOTED = "this run could not be noted as yours, so `resume` will ask before it uses what the run names"
_NOT_YOURS = "this run was not begun by you on this machine (or was changed since), and it names"


def refuse(things: Sequence[str]) -> bool:
    """Never agree: there is nobody to ask."""
    return False


def stored_config(archive: RunReader, digest: str | None = None) -> Config:
    """Read the configuration of a run, or (by its digest) that of an earlier session. Raises InputError when it was
    damaged, ArchiveError where it is not kept."""
    path = str(archive.config_path(digest))
    return build_config(parse_mapping(archive.config_text(digest), path, error=InputError), origin=path)


def named_things(config: Config, *, typed_task: bool = False) -> list[str]:
    """List what a configuration names that is not built in, a line each. `typed_task`: the user typed its task just
    now."""
    things = []
    if config.task not in built_in_tasks() and not typed_task:
        things.append(f"task folder {_shown(config.task)} ({_TASK_CODE})")
    if config.initial is not None:
        things.append(f"initial program {_shown(config.initial)}")
    if config.prompts_dir is not None:
        things.append(f"prompt templates of {_shown(config.prompts_dir)}")
    if is_dotted(config.search.strategy):
        things.append(f"search strategy {_shown(config.search.strategy)} (Python that runs as you)")
    if config.cluster is not None and not config.cluster.local:
        things.append(f"cluster {_shown(config.workers)}: the task's code and its instances are sent there")
    things += map(_describe_model, config.models)
    if any(model.script is None or model.client is not None for model in config.models):
        amounts = (config.budget_usd, "USD"), (config.budget_tokens, "tokens"), (config.budget_calls, "calls")
        budgets = [f"{amount} {unit}" for amount, unit in amounts if amount is not None]
        things.append(f"a budget of at most {', '.join(budgets)}" if budgets else "no budget")
    return things


def _describe_model(model: ModelConfig) -> str:
    key = f"with the key in ${_shown(model.api_key_env)}" if model.api_key_env else "with no key"
    further = [f"${_shown(name)}" for name in [*variables_in(model.headers), *variables_in(model.query)]]
    key += f" and {', '.join(further)} in its headers or query" if further else ""
    where = "OpenAI's endpoint" if model.base_url is None else _shown(model.base_url)
    if model.script is not None and model.client is None:
        return f"model scripted: answers of the file {_shown(model.script)}"
    named = f"model {_shown(model.shown_name)}"
    if model.model != model.shown_name:
        named += f" ({_shown(model.model)})"
    if model.client is not None:
        return f"{named}: client {_shown(model.client)} (Python that runs as you), {where}, {key}"
    if model.command is not None:
        words = " ".join(map(shlex.quote, model.command))
        return f"{named}: command {_shown(words)} (runs as you, with your environment), {key}"
    price = "" if model.price_in is None else f", at {model.price_in} and {model.price_out} USD per million tokens"
    return f"{named}: prompts go to {where}, {key}{price}"


def own_run(config: Config) -> tuple[str, str | None]:
    """Make the id of a new run and note it as this user's, before there are files that a kill could leave without an
    owner. Returns the id, and why it could not be noted, if so."""
    run_id = secrets.token_hex(16)
    return run_id, _remember(run_id, named_things(config))


def require_trust(archive: RunReader, config: Config, *, typed_task: bool, agree: Agree) -> str | None:
    """Let a run go on with `config` only if the run is the user's, or `agree` says yes; noted for the next time.
    Returns why it could not be noted, if so. Raises UntrustedArchive."""
    if not is_own(archive):
        remedy = f"{command('resume', archive.folder, '--trust')} (from Python: trust=True)"
        _require_agreement(archive, named_things(config, typed_task=typed_task), agree, remedy)
    return _remember(archive.run_id, named_things(config))


def require_trust_to_repeat(archive: RunReader, configs: Iterable[Config], *, typed_task: bool, agree: Agree) -> bool:
    """Let a run be rerun only if the things that a rerun uses are the user's, or `agree` says yes. They are named by
    the `configs` of its sessions; a rerun uses no model, initial file or cluster, and the task where it is now.
    Returns whether the run is the user's own. Raises UntrustedArchive."""
    config = stored_config(archive)
    noted = named_things(config)
    own = _is_noted(archive.run_id, noted)
    foreign = (other for other in configs if not _is_noted(archive.run_id, named_things(other)))
    here: dict[str, Any] = {"models": [], "initial": None, "task": config.task, "workers": config.processes}
    used = (other.model_copy(update=here) for other in foreign)
    named = dict.fromkeys(thing for other in used for thing in named_things(other, typed_task=typed_task))
    things = [thing for thing in named if not own or thing not in noted]
    _require_agreement(archive, things, agree, command("rerun", archive.folder, "--trust"))
    return own


def _require_agreement(archive: RunReader, things: Sequence[str], agree: Agree, remedy: str) -> None:
    if things and not agree(things):
        raise UntrustedArchive(
            f"{archive.folder}: {_NOT_YOURS} what is not built in: {'; '.join(things)}. None of it was used. "
            f"If you trust all of it: {remedy}"
        )


def is_own(archive: RunReader) -> bool:
    """Whether a run was begun or trusted here, with the things that its configuration names now."""
    return _is_noted(archive.run_id, named_things(stored_config(archive)))


def note_audit(archive: RunReader) -> str | None:
    """Note that the newest audit in the record of a run was made here. Returns why it could not be noted, if so."""
    if archive.audited is None:
        return None
    return _remember(
        archive.run_id,
        _of_audit(archive.audited),
        failure="the audit could not be noted as yours, so pages will not show its verdicts",
    )


def own_audit(archive: RunReader) -> AuditedEvent | None:
    """The newest audit of a run if it was made here; somebody else's says nothing of the scores."""
    audited = archive.audited
    return audited if audited is not None and _is_noted(archive.run_id, _of_audit(audited)) else None


def _of_audit(audited: AuditedEvent) -> list[str]:
    return ["audited", json.dumps(document_of(audited), sort_keys=True)]


def replayed_task(
    archive: RunReader, *, typed: str | None, trust: bool, verb: str = "replay", rest: Sequence[str | Path] = ()
) -> Task:
    """Load the task that scores a program of a run again: built in, typed by the user, or named by the user's own run.
    `verb` is the command for the hint of an error, `rest` what follows the run in it.

    Raises InputError, and UntrustedArchive before any code of the task has run.
    """
    config = stored_config(archive)
    if typed is None and config.task not in built_in_tasks():
        if not trust and not is_own(archive):
            raise UntrustedArchive(
                f"{archive.folder}: {_NOT_YOURS} the task folder {_shown(config.task)} ({_TASK_CODE}). It was not "
                f"loaded. Name your own copy of the task: {command(verb, archive.folder, *rest, '--task', 'FOLDER')}"
            )
        return task_of_run(archive, config.task, verb=verb, rest=rest)
    task = task_of_run(archive, typed or config.task, verb=verb, rest=rest)
    recorded = archive.identity.get("task_digest", task.digest)
    if typed is not None and recorded != task.digest:
        raise InputError(
            f"{Path(typed)}: this task has changed since it scored this run: its judge, adapter or entry point differ "
            f"(digest {task.digest[:16]}, recorded {recorded[:16]}). Name the folder as it was then, or go on with the "
            f"changed task: {command('resume', archive.folder, '--task', typed, '--rescore')}"
        )
    return task


def nameable_task(archive: RunReader) -> str:
    """The task's folder for a printed command: the real one for the user's own runs, else a word to be replaced."""
    return stored_config(archive).task if is_own(archive) else "FOLDER"


def _shown(text: object) -> str:
    return one_line(str(text), 1024 * 1024)  # whole: the end of a long address decides, too


def _is_noted(run_id: str | None, things: Sequence[str]) -> bool:
    """Whether a run that names these `things` is noted as begun or trusted here."""
    if run_id is None:
        return False
    try:
        descriptor = os.open(state_folder("runs") / run_id, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            return _digest(things).encode("ascii") in file.read(1024 * 1024).split()
    except (OSError, RuntimeError):  # never noted here, or there is no home
        return False


def _remember(run_id: str | None, things: Sequence[str], *, failure: str = _UNNOTED) -> str | None:
    """Note that a run that names these `things` is this user's. Returns a sentence where it cannot be noted, which is
    no reason to end a run."""
    if run_id is None or _is_noted(run_id, things):
        return None
    try:
        folder = state_folder("runs")
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK
        descriptor = os.open(folder / run_id, flags, 0o600)
        try:
            os.write(descriptor, f"{_digest(things)}\n".encode("ascii"))
        finally:
            os.close(descriptor)
    except (OSError, RuntimeError) as cause:
        why = (cause.strerror if isinstance(cause, OSError) else None) or str(cause)
        return f"{failure} ({why}). Set XDG_STATE_HOME to a folder that can be written"
    return None


def state_folder(name: str) -> Path:
    """A folder of this user's state: `runs` has the notes. Raises RuntimeError when the user has no home."""
    state = Path(os.environ.get("XDG_STATE_HOME", ""))
    return (state if state.is_absolute() else Path.home() / ".local" / "state") / "evolve" / name


def _digest(things: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(things).encode("utf-8", "surrogatepass")).hexdigest()
