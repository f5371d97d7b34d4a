"""What comes back of a run: a patch against the recorded commit, the text for a pull request, a new branch."""

import shlex
import tempfile
from collections.abc import Iterator
from pathlib import Path

from evaluator.repository_task import Repository
from evaluator.untrusted import one_line
from evolve.apps.repository.checkout import find_repository, git
from evolve.archive.reader import RunReader
from evolve.archive.records import ProgramRecord
from evolve.core.errors import InputError
from evolve.review.scores import remeasured_text


def patch_text(archive: RunReader, program: ProgramRecord) -> str:
    """The difference between the initial program and another one, as `git apply` takes it. Raises InputError where
    there is none."""
    with tempfile.TemporaryDirectory(prefix="evolve-patch-") as folder:
        for side, record in (("a", archive.programs[0]), ("b", program)):
            (Path(folder) / side).mkdir()
            for path, text in archive.files(record).items():
                place = Path(folder) / side / path
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(text.encode("utf-8", "surrogatepass"))
        options = ("--no-index", "--no-prefix", "--no-renames", "--no-color", "--no-ext-diff", "--no-textconv")
        text = git(Path(folder), "-c", "core.autocrlf=false", "diff", *options, "a", "b", statuses=(0, 1))
    if not text:
        raise InputError(f"generation {program.generation} is the unchanged code: there is nothing to patch")
    return text


def message_text(archive: RunReader, program: ProgramRecord, repository: Repository) -> str:
    """The text for a pull request: what was changed, and the measurements behind it."""
    remeasured = archive.remeasured.get(program.generation)
    what = {"cpu": "CPU time", "wall": "time", "memory": "peak memory", "metric": "printed number"}[repository.measure]
    title = f"Improve the {what} of `{repository.bench}`"
    gain = f"{program.combined_score:.3f} times as good in the search, where it was chosen for being high"
    if remeasured is not None:
        times, machine = remeasured.result["times"], one_line(remeasured.host, 100)
        title += f": {times:.2f} times as good" if remeasured.result["is_better"] else ": not confirmed"
        gain = f"{remeasured_text(remeasured)}; machine {machine}, load {remeasured.load:g} for each core"
    tests = program.metrics.get("tests")
    passed = "pass" if tests is None else f"pass: {tests:.0f} of them"
    lines = [title, "", "What was changed:"]
    lines += [f"- {step}" for step in _steps(archive, program)]
    lines += ["", f"Measured ({repository.measure.words}) against commit {repository.commit}:", f"- {gain}"]
    lines += [f"- the tests (`{repository.test}`) {passed}"]
    if repository.self_judged:
        lines.append("- the number is printed by the changed code's own process (self-judged)")
    return "\n".join(
        [*lines, "", f"Found by evolve: generation {program.generation} of the run {archive.folder.name}", ""]
    )


def _steps(archive: RunReader, program: ProgramRecord) -> Iterator[str]:
    """What each program on the way from the initial one changed."""
    way = [program]
    while way[-1].parents:
        way.append(archive.find(way[-1].parents[0]))
    for record in reversed(way[:-1]):
        name, why = one_line(record.origin.patch_name, 100), one_line(record.origin.description, 400)
        yield f"{name}: {why}" if why and why != name else name


def apply_to(archive: RunReader, program: ProgramRecord, repository: Repository, path: Path) -> tuple[str, str]:
    """Commit the patch on a new branch of the repository at `path`, whose files and present branch stay as they are:
    (branch, commit). Raises InputError where the repository is another one, at other files, or has changes."""
    patch, message = patch_text(archive, program), message_text(archive, program, repository)
    checkout = find_repository(path, called="")
    commit = repository.commit.removesuffix("-dirty")
    try:
        recorded = git(checkout.top, "rev-parse", "--verify", f"{commit}^{{tree}}").strip()
    except InputError:
        raise InputError(f"{checkout.top}: does not have the commit {commit}, at which the task was made") from None
    if git(checkout.top, "rev-parse", "HEAD^{tree}").strip() != recorded:
        raise InputError(
            f"{checkout.top}: its files at HEAD are not those of the commit {commit[:12]}, at which the task was made; "
            f"check that commit out first: git switch --detach {commit[:12]}"
        )
    try:
        git(checkout.top, "var", "GIT_COMMITTER_IDENT")
    except InputError as cause:
        raise InputError(
            f"{checkout.top}: git does not know who commits ({cause}); set both first: "
            "git config --global user.name NAME; git config --global user.email EMAIL"
        ) from None
    branch = f"evolve/{archive.folder.name}-{program.generation}"
    if git(checkout.top, "branch", "--list", branch):
        there = shlex.quote(str(checkout.top))
        raise InputError(
            f"{checkout.top}: the branch {branch} exists already; look at it: git -C {there} switch {branch}; or make "
            f"room: git -C {there} branch -D {branch}"
        )
    with tempfile.TemporaryDirectory(prefix="evolve-patch-") as folder:
        index = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
        git(checkout.top, "read-tree", commit, more=index)
        try:
            git(checkout.top, "apply", "--cached", "-", more=index, stdin=patch)
        except InputError as cause:
            raise InputError(
                f"{checkout.top}: the patch does not apply to the commit {commit[:12]} ({cause})"
            ) from None
        tree = git(checkout.top, "write-tree", more=index).strip()
        made = git(checkout.top, "commit-tree", tree, "-p", commit, "-F", "-", stdin=message).strip()
    try:
        git(checkout.top, "branch", branch, made)
    except InputError as cause:
        raise InputError(f"{checkout.top}: the branch {branch} cannot be made ({cause})") from None
    return branch, made
