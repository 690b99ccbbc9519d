"""A budget for the request bodies of all clients.

A body counts from its first byte until its answer has ended. If there is no room, the body that has
been arriving for longest is refused, so a client that sends slowly on purpose loses. Small bodies
are neither counted nor refused: the number of connections limits their sum, so nobody can lock out
an ordinary request.
"""

from typing import Protocol

SMALL = 64 * 1024


class Upload(Protocol):
    """A body that is being read."""

    def make_way(self) -> None:
        """Discard what has been read, and tell the client."""
        ...


class BodyBudget:
    """The bytes of all bodies that are not small. Callers do not report small ones."""

    __slots__ = ("_uploads", "held", "limit")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.held = 0
        self._uploads: dict[Upload, None] = {}

    def take(self, upload: Upload, size: int, more: int) -> bool:
        """Reserve `more` bytes for a body that has grown to `size`. False: there is no room."""
        if size - more <= SMALL:
            self._uploads[upload] = None
            more = size
        self.held += more
        while self.held > self.limit:
            oldest = next(iter(self._uploads))
            if oldest is upload:
                return False
            oldest.make_way()
        return True

    def complete(self, upload: Upload) -> None:
        """Record that a body is complete or abandoned."""
        self._uploads.pop(upload, None)

    def give(self, size: int) -> None:
        """Release the bytes of a body."""
        self.held -= size
