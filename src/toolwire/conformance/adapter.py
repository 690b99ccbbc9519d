"""The interface of a parser under test: a small adapter, written once per parser."""

import importlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

from toolwire.conformance.calls import ExtractedToolCallInformation
from toolwire.conformance.deltas import DeltaMessage
from toolwire.conformance.faults import AdapterError

Tools: TypeAlias = Sequence[dict[str, Any]]
"""Tools in OpenAI's format: `{"type": "function", "function": {...}}`."""


class ParserStream(Protocol):
    """Reads one answer piece by piece."""

    def feed(self, delta: str) -> list[DeltaMessage]:
        """Consume the next piece of text. Return what is now certain."""
        ...

    def finish(self) -> list[DeltaMessage]:
        """End the text. Return the rest."""
        ...


@runtime_checkable
class Adapter(Protocol):
    """A parser under test. No state is carried over between calls of its methods.

    An adapter without `reads_reasoning = True` skips cases with reasoning. One with
    `holds_calls = True` may deliver a call once it is complete instead of incrementally.
    """

    def extract(self, text: str, tools: Tools) -> ExtractedToolCallInformation:
        """Parse a whole answer."""
        ...

    def stream(self, tools: Tools) -> ParserStream:
        """Return a streaming parser for one answer."""
        ...


Factory: TypeAlias = Callable[[str], Adapter | None]
"""Returns an adapter for the named format, or None if the parser does not support it."""


def load_factory(path: str) -> Factory:
    """Load `my.module:name`: an adapter for one format, or a function from format to adapter."""
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
    """Return the factory's adapter for a format, checked."""
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
        sys.path.insert(0, here)  # as `python -m` does: modules are often in this directory
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise AdapterError(f"cannot import {name}: {error}. Is it installed, or here?") from None
