"""Names from modules that few processes need. A module is loaded when its name is first used.

Use it for what an ordinary gateway never does, not for what requests wait for: loading a module
takes milliseconds, in which nothing else is answered.
"""

from importlib import import_module
from typing import Any, Generic, TypeVar, cast

T = TypeVar("T")


class Later(Generic[T]):
    """`name` of `module`: call it to get it."""

    __slots__ = ("module", "name")

    def __init__(self, module: str, name: str) -> None:
        self.module = module
        self.name = name

    def __call__(self) -> T:
        """Return what the name stands for."""
        found: Any = getattr(import_module(self.module), self.name)
        return cast("T", found)
