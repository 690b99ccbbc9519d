"""What a parser must look like to be tested: a small adapter, written once per parser."""

import importlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

from toolwire.conformance.calls import ExtractedToolCallInformation
from toolwire.conformance.deltas import DeltaMessage
from toolwire.conformance.faults import AdapterError

Tools: TypeAlias = Sequence[dict[str, Any]]
"""Tools as an OpenAI request has them: `{"type": "function", "function": {...}}`."""


class Stream(Protocol):
    """Reads one answer piece by piece."""

    def feed(self, delta: str) -> list[DeltaMessage]:
        """What the next piece of the text makes certain."""
        ...

    def finish(self) -> list[DeltaMessage]:
        """What only the end of the text makes certain."""
        ...


@runtime_checkable
class Adapter(Protocol):
    """A parser under test. Every call of these starts afresh: no state is carried over.

    An adapter without `reads_reasoning = True` is not asked about texts that hold reasoning, and
    one with `holds_calls = True` may deliver a call once it is complete instead of bit by bit.
    """

    def extract(self, text: str, tools: Tools) -> ExtractedToolCallInformation:
        """What a whole answer holds."""
        ...

    def stream(self, tools: Tools) -> Stream:
        """A reader of one answer."""
        ...


Factory: TypeAlias = Callable[[str], Adapter | None]
"""An adapter for the format of that name; None if the parser does not know it."""


def load_factory(path: str) -> Factory:
    """The adapter at `my.module:name`: an object for one format, or a function of its name."""
    module_name, _, attribute = path.partition(":")
    if not module_name or not attribute:
        raise AdapterError(f"{path!r} does not name an adapter: write it as my.module:adapter")
    found = _import(module_name)
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise AdapterError(f"{module_name} has no {attribute!r}; is the name right?")
        found = getattr(found, part)
    if isinstance(found, Adapter):
        adapter = found
        return lambda _format: adapter
    if callable(found):
        factory: Factory = found
        return factory
    raise AdapterError(
        f"{path} is neither an adapter (an object with extract and stream) nor a function that "
        "takes a format's name and gives one"
    )


def adapter_for(factory: Factory, format_name: str) -> Adapter | None:
    """The factory's adapter for a format, checked."""
    adapter = factory(format_name)
    if adapter is not None and not isinstance(adapter, Adapter):
        raise AdapterError(
            f"the adapter for {format_name} is a {type(adapter).__name__} without extract and "
            "stream"
        )
    return adapter


def _import(name: str) -> Any:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)  # as `python -m` does: the module is often right here
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise AdapterError(f"cannot import {name}: {error}. Is it installed, or here?") from None
