"""Reading YAML files; the only importer of the yaml package."""

import difflib
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

from evaluator.errors import TaskError
from evaluator.untrusted import one_line

MAX_BYTES: Final = 1024 * 1024
MAX_ALIASES: Final = 100
MAX_DEPTH: Final = 50
MAX_DIGITS: Final = 1000
_LONG_NUMBER: Final = re.compile(rf"[-+.]?[0-9][0-9a-fA-FoxX_:.]{{{MAX_DIGITS}}}")


def read_mapping(path: Path, *, error: type[Exception] = TaskError, foreign: bool = False) -> dict[str, Any]:
    """The mapping in a YAML file. Raises `error` with the file and the line when there is none. Tags of a `foreign`
    file, written by another program (`!!python/object`), are ignored."""
    try:
        if path.exists() and not path.is_file():  # a device or a pipe might never end
            raise error(f"{path}: is not a file, so it cannot be read")
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise error(f"{path}: is larger than {MAX_BYTES // 2**20} MB, so it cannot be the file that is meant")
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except OSError as cause:
        raise error(f"{path}: cannot be read ({cause.strerror})") from None
    except UnicodeDecodeError as cause:
        raise error(f"{path}: is not UTF-8 text (byte {cause.start})") from None
    return parse_mapping(text, str(path), error=error, foreign=foreign)


def parse_mapping(
    text: str, origin: str, *, error: type[Exception] = TaskError, foreign: bool = False
) -> dict[str, Any]:
    """The mapping in a YAML text. Raises `error` with `origin` and the line when there is none."""
    import yaml

    try:
        _refuse_bombs(text)
        document = yaml.load(text, Loader=_loader(foreign))
    except (ValueError, OverflowError, RecursionError) as cause:  # an impossible date or number
        raise error(f"{origin}: is not valid YAML ({one_line(str(cause))})") from None
    except yaml.YAMLError as cause:
        mark = getattr(cause, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        raise error(f"{origin}{where}: is not valid YAML ({getattr(cause, 'problem', cause)})") from None
    if document is None:
        document = {}
    if not isinstance(document, dict):
        raise error(f"{origin}: must be a mapping of keys to values, not {type(document).__name__}")
    if (key := next((key for key in document if not isinstance(key, str)), None)) is not None or None in document:
        raise error(f"{origin}: every key must be a text; {one_line(repr(key), 60)} is not")
    return document


def line_of(path: Path, key: str) -> int | None:
    """The line of a key in a YAML file (`suites.five.limits`, `best_known[2].value`), or of its innermost part that is
    there; None where no part is."""
    import yaml

    try:
        node = yaml.compose(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, yaml.YAMLError):
        return None
    line = None
    for part in re.findall(r"[^.\[\]]+|\[\d+\]", key):
        if part.startswith("["):
            entries = node.value if isinstance(node, yaml.SequenceNode) else []
            index = int(part[1:-1])
            if index >= len(entries):
                break
            node = entries[index]
            line = node.start_mark.line + 1
            continue
        pairs = node.value if isinstance(node, yaml.MappingNode) else []
        pair = next((pair for pair in pairs if pair[0].value == part), None)
        if pair is None:
            break
        line, node = pair[0].start_mark.line + 1, pair[1]
    return line


def _refuse_bombs(text: str) -> None:
    """Raise YAMLError for a small text that grows when it is read: anchors within anchors, deep nesting, a number of
    thousands of digits. Reads event by event, before anything is built."""
    import yaml

    depth, aliases, anchored = 0, 0, 0  # `anchored`: the depth of the open anchor, 0 for none

    def refused(why: str) -> Exception:
        mark: Any = event.start_mark
        return yaml.composer.ComposerError(None, None, why, mark)

    if len(text) > MAX_BYTES:
        raise yaml.YAMLError(f"more than {MAX_BYTES // 2**20} MB of text")
    for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        if isinstance(event, yaml.AliasEvent):
            aliases += 1
            if aliases > MAX_ALIASES or anchored:
                raise refused(f"an alias within an anchor, or more than {MAX_ALIASES} aliases; write it out")
        elif isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise refused(f"nested more than {MAX_DEPTH} deep")
            anchored = anchored or (depth if event.anchor else 0)
        elif isinstance(event, yaml.CollectionEndEvent):
            anchored = 0 if anchored == depth else anchored
            depth -= 1
        elif isinstance(event, yaml.ScalarEvent) and not event.style and _LONG_NUMBER.match(event.value):
            raise refused(f"a number of more than {MAX_DIGITS} digits")


def _loader(foreign: bool) -> Any:
    """A safe loader that refuses duplicate keys; of a `foreign` tag it takes the data, and builds nothing."""
    import yaml

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            seen: set[str] = set()
            for key, _ in node.value:
                if isinstance(key.value, str) and key.value in seen:
                    problem = f"key {key.value!r} stands twice"
                    raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
                if isinstance(key.value, str):
                    seen.add(key.value)
            return super().construct_mapping(node, deep)

        def plain(self, _: str, node: Any) -> Any:
            if isinstance(node, yaml.MappingNode):
                return self.construct_mapping(node, deep=True)
            return self.construct_sequence(node, True) if isinstance(node, yaml.SequenceNode) else node.value

    if foreign:
        Loader.add_multi_constructor("", Loader.plain)
    return Loader


def nearest(key: str, known: Collection[str]) -> str:
    """A hint for an unknown key: ` (did you mean 'x'?)`, or the list of the known keys."""
    close = difflib.get_close_matches(key, known, n=1, cutoff=0.6)
    return f" (did you mean {close[0]!r}?)" if close else f" (known: {', '.join(sorted(known))})"


def parse_value(text: str) -> Any:
    """One value as YAML text, from a command line (`3`, `null`, `[a, b]`). Raises ValueError."""
    import yaml

    try:
        _refuse_bombs(text)
        return yaml.safe_load(text)
    except (yaml.YAMLError, OverflowError, RecursionError) as cause:
        raise ValueError(f"{text!r} is not a YAML value") from cause
