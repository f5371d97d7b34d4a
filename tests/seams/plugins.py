"""Plug-ins of ten lines, as somebody else would write them: modules in a folder of PYTHONPATH."""

import importlib.util
from pathlib import Path
from typing import Any

SEARCH = """from evolve.program import PatchKind
from evolve.proposal import Choice


class Newest:
    def __init__(self, settings):
        self.model, self.parent = next(name for name, share in settings.shares.items() if share), None
    def choose(self, generation):
        return Choice(kind=PatchKind.DIFF, island=0, parent=self.parent, inspirations=(), model=self.model)
    def ended(self, ended):
        self.parent = ended.program if ended.program and not ended.program.quarantine else self.parent
    def restore(self, history):
        for ended in history:
            self.ended(ended)
"""

LLM = """from evolve.completion import CallEvent, Completion

PATCH = "<NAME>echo</NAME><DESCRIPTION>{}</DESCRIPTION><DIFF>\\n<<<<<<< SEARCH\\n# next\\n=======\\nOFFSET -= {}\\n# next\\n>>>>>>> REPLACE\\n</DIFF>"


class Echo:
    def __init__(self, settings):
        self.name = settings.name
    def estimate_usd(self, tokens_in):
        return 0.0
    def complete(self, messages, *, key, observe):
        observe(CallEvent(call=0, phase="calling", status="calling"))
        observe(CallEvent(call=0, phase="answered", status="stop"))
        return Completion(text=PATCH.format(key, 1 + int(key.split("/")[1]) / 100))
"""  # noqa: E501


def write(folder: Path) -> Path:
    """Put both plug-ins into a folder; PYTHONPATH has to name it."""
    folder.mkdir(exist_ok=True)
    (folder / "my_search.py").write_text(SEARCH, encoding="utf-8")
    (folder / "my_llm.py").write_text(LLM, encoding="utf-8")
    return folder


def loaded(folder: Path, name: str) -> Any:
    """A module of the folder, without a trace in `sys.modules`."""
    spec = importlib.util.spec_from_file_location(name, write(folder) / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
