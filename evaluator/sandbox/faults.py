"""Describes a candidate's exception as plain text, without running any code of the exception's own.

Runs in the candidate's process. The exception's class, `__str__`, arguments and their `__repr__` are the candidate's
code and may lie, loop or raise. So only built-in types are read, through the descriptors of the built-in classes.
"""

from types import TracebackType
from typing import Any, Final

SOURCE_NAME: Final = "<candidate>"
"""The file name of a candidate's code."""
ADAPTER_NAME: Final = "<adapter>"
"""The file name of the adapter's code."""
_TEXT_LIMIT: Final = 2000
_ITEMS_LIMIT: Final = 8

_name_of: Any = type.__dict__["__name__"].__get__
_mro_of: Any = type.__dict__["__mro__"].__get__
_dict_of: Any = type.__dict__["__dict__"].__get__
_args_of: Any = BaseException.__dict__["args"].__get__
_traceback_of: Any = BaseException.__dict__["__traceback__"].__get__
# Typed as Any: the stubs know these as attributes of instances, not as descriptors.
_syntax_error: Any = SyntaxError
_os_error: Any = OSError
_OF_SYSTEM_ERRORS: Final = (_os_error.errno, _os_error.strerror, _os_error.filename, _os_error.filename2)
# The built-in formatters, which read nothing but the arguments.
_FORMATTERS: Final = {BaseException: BaseException.__str__, KeyError: KeyError.__str__, OSError: OSError.__str__}


def type_name(value: object) -> str:
    """The name of a value's class, without asking its metaclass."""
    return str(_name_of(type(value)))


def message(exception: BaseException) -> str:
    """The exception's message, made from its arguments alone."""
    if isinstance(exception, SyntaxError):
        return _text(_syntax_error.msg.__get__(exception))
    arguments = _args_of(exception)
    formatter = _formatter(type(exception))
    more = [part.__get__(exception) for part in _OF_SYSTEM_ERRORS] if isinstance(exception, OSError) else []
    named = [part for part in more if type(part) is not bytes]  # a file may be named by bytes
    if formatter is not None and all(_plain(part) for part in (*arguments, *named)):
        try:
            return str(formatter(exception))[:_TEXT_LIMIT]
        except ValueError:  # an int of too many digits
            pass
    return ", ".join(_shown(argument, top=len(arguments) == 1) for argument in arguments[:_ITEMS_LIMIT])


def lines(exception: BaseException, source_name: str = SOURCE_NAME) -> list[tuple[int, str]]:
    """(line, function) of the traceback's frames in one source, outermost first."""
    frames: list[tuple[int, str]] = []
    if isinstance(exception, SyntaxError):
        line = _syntax_error.lineno.__get__(exception)
        filename = _syntax_error.filename.__get__(exception)
        if type(filename) is str and filename == source_name and type(line) is int and 0 < line < 10**6:
            return [(line, "<module>")]
    traceback: TracebackType | None = _traceback_of(exception)
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if code.co_filename == source_name:
            frames.append((traceback.tb_lineno, code.co_name))
            if len(frames) > 40:  # unbounded recursion: the first and the last frames are enough
                del frames[10]
        traceback = traceback.tb_next
    return frames


def _formatter(kind: type) -> Any:
    """The built-in `__str__` of this class; None when the candidate wrote another one."""
    for base in _mro_of(kind):
        if "__str__" in _dict_of(base):
            return _FORMATTERS.get(base)
    return None


def _plain(value: object) -> bool:
    kind = type(value)
    return kind is str or kind is int or kind is float or kind is bool or value is None


def _shown(value: Any, *, top: bool = False, depth: int = 2) -> str:
    kind = type(value)
    if kind is str:
        return _text(value) if top else repr(_text(value))
    if kind is int and not -(10**40) < value < 10**40:
        return "<a huge int>"
    if _plain(value):
        return repr(value)
    if depth and (kind is list or kind is tuple):
        items: Any = value
        shown = ", ".join(_shown(item, depth=depth - 1) for item in items[:_ITEMS_LIMIT])
        more = ", ..." if len(items) > _ITEMS_LIMIT else ""
        return f"[{shown}{more}]" if kind is list else f"({shown}{more})"
    return f"<{_name_of(kind)} object>"


def _text(value: object) -> str:
    return value[:_TEXT_LIMIT] if type(value) is str else f"<{_name_of(type(value))} object>"
