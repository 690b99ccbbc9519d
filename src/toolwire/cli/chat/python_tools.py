"""Finds the tools of a Python file."""

import importlib.util
import sys
import traceback
from pathlib import Path
from types import ModuleType

from toolwire.cli.usage_error import UsageError
from toolwire.client.errors import ToolDefinitionError
from toolwire.client.tools.tool import Tool
from toolwire.client.tools.toolbox import Toolbox

_HOW = "Mark a function with @tool (from toolwire import tool), or make a list `tools`."


def load_tools(paths: tuple[Path, ...]) -> Toolbox:
    """The tools of some files: what is in their `tools`, else everything marked with @tool."""
    box = Toolbox()
    for path in paths:
        try:
            found = _tools_in(_load(path))
            for item in found:
                box.add(item)
        except ToolDefinitionError as error:
            raise UsageError(f"{path}: {error}") from None
        if not found:
            raise UsageError(f"{path} has no tools. {_HOW}")
    return box


def _load(path: Path) -> ModuleType:
    if not path.is_file():
        raise UsageError(f"there is no file {path}.")
    # Not under the file's own name, which another module may have.
    name = f"toolwire_tools_{path.stem}_{abs(hash(path.resolve()))}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is not a Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where types are looked up
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        spec.loader.exec_module(module)
    except ToolDefinitionError:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the user's own code
        raise UsageError(f"{path} cannot be loaded. {_where(error, path)}") from None
    return module


def _tools_in(module: ModuleType) -> list[object]:
    given = getattr(module, "tools", None)
    if isinstance(given, Toolbox | list | tuple):
        return list(given)
    kept = [value for name, value in vars(module).items() if not name.startswith("_")]
    return list({id(one): one for one in kept if isinstance(one, Tool | Toolbox)}.values())


def _where(error: BaseException, path: Path) -> str:
    """The line of the file where it went wrong, as a traceback has it."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame.lineno for frame in frames if Path(frame.filename) == path]
    line = error.lineno if isinstance(error, SyntaxError) else (own[-1] if own else None)
    place = f"line {line}: " if line else ""
    return f"{place}{type(error).__name__}: {error}"
