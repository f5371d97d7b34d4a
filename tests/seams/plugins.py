"""Short plug-ins, as somebody else would write them: modules in a folder of PYTHONPATH."""

import importlib.util
import shutil
from pathlib import Path
from typing import Any

PLUGINS = Path(__file__).parent.parent / "data" / "plugins"


def write(folder: Path) -> Path:
    """Put both plug-ins into a folder; PYTHONPATH has to name it."""
    folder.mkdir(exist_ok=True)
    for plugin in PLUGINS.glob("*.py"):
        shutil.copy(plugin, folder)
    return folder


def loaded(folder: Path, name: str) -> Any:
    """A module of the folder, without a trace in `sys.modules`."""
    spec = importlib.util.spec_from_file_location(name, write(folder) / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
