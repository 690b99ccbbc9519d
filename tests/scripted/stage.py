"""What is being played, and what has come in meanwhile. It plays nothing itself."""

from typing import Any

from tests.scripted.record import Recorded
from tests.scripted.scripts import load_script
from tests.scripted.variants import load_variant


class Stage:
    """The script, the variant, the key demanded and the record of one server."""

    def __init__(self, variant: str, script: Any, key: str | None = None) -> None:
        self.key = key
        self.set(variant, script)

    def set(self, variant: str, script: Any) -> None:
        """Switch to another variant and script and start a new record."""
        self.variant, self.script = load_variant(variant), load_script(script)
        self.requests: list[Recorded] = []
        self.posts = 0
