"""Which lines of the package an input reaches: what tells a fuzzer that an input is of interest.

`sys.monitoring` reports each line once and costs nothing after that; Python 3.11 has only
`settrace`, where a function is left alone as soon as it has nothing new to show for a while.
"""

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import toolwire

CHEAP = sys.version_info >= (3, 12)
_HERE = str(Path(toolwire.__file__).parent)
_PATIENCE = 300
"""So many calls without a new line, and a function is looked at only now and then."""
_NOW_AND_THEN = 64


class Lines:
    """The lines that were reached so far. `new` tells whether the last input reached another."""

    def __init__(self) -> None:
        self.seen: set[tuple[CodeType, int]] = set()
        self._before = 0
        self._idle: Counter[CodeType] = Counter()

    def watch(self, call: Callable[[], Any]) -> Any:
        """Make the call, and note the lines that it reaches."""
        self._before = len(self.seen)
        if CHEAP:
            return self._monitored(call)
        sys.settrace(self._enter)
        try:
            return call()
        finally:
            sys.settrace(None)

    @property
    def new(self) -> bool:
        """Whether the last call reached a line that none before it did."""
        return len(self.seen) > self._before

    def _enter(self, frame: FrameType, event: str, arg: object) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(_HERE):
            return None
        idle = self._idle[code] = self._idle[code] + 1
        if idle > _PATIENCE and idle % _NOW_AND_THEN:
            return None
        return self._line

    def _line(self, frame: FrameType, event: str, arg: object) -> Any:
        place = frame.f_code, frame.f_lineno
        if place not in self.seen:
            self.seen.add(place)
            self._idle[frame.f_code] = 0
        return self._line

    def _monitored(self, call: Callable[[], Any]) -> Any:
        # Not on the type checker's Python, nor on every one that runs this.
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined, unused-ignore]
        tool, event = monitoring.COVERAGE_ID, monitoring.events.LINE

        def line(code: CodeType, number: int) -> Any:
            if code.co_filename.startswith(_HERE):
                self.seen.add((code, number))
            return monitoring.DISABLE

        monitoring.use_tool_id(tool, "toolwire-fuzz")
        monitoring.register_callback(tool, event, line)
        monitoring.set_events(tool, event)
        try:
            return call()
        finally:
            monitoring.set_events(tool, 0)
            monitoring.free_tool_id(tool)
