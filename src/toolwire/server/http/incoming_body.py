"""The body of a request while it arrives: its pieces, and its share of the budget of all bodies."""

from toolwire.server.http.bodies import SMALL, BodyBudget, Upload

_PIECE = 4096


class IncomingBody:
    """Collects one body at a time. It holds no reference to the upload, which owns it."""

    __slots__ = ("_budget", "_pieces", "size")

    def __init__(self, budget: BodyBudget) -> None:
        self.size = 0
        self._budget = budget
        self._pieces: list[bytes | bytearray] = []

    def add(self, upload: Upload, data: bytes) -> bool:
        """Keep the next piece. False: there is no room for it."""
        size = self.size = self.size + len(data)
        if self._pieces and len(data) < _PIECE:
            self._append(data)
        else:
            self._pieces.append(data)
        return size <= SMALL or self._budget.take(upload, size, len(data))

    def _append(self, data: bytes) -> None:
        """Append a small piece to the last one: many small objects would waste memory."""
        if isinstance(last := self._pieces[-1], bytearray):
            last += data
        else:
            self._pieces.append(bytearray(data))

    def complete(self, upload: Upload) -> bytes | bytearray:
        """Return the whole body. It counts towards the budget until its answer has ended."""
        pieces, self._pieces = self._pieces, []
        if self.size > SMALL:
            self._budget.complete(upload)
        self.size = 0
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def discard(self, upload: Upload) -> None:
        """Drop an incomplete body, and release its bytes."""
        if self.size > SMALL:
            self._budget.complete(upload)
            self._budget.give(self.size)
        self.size = 0
        self._pieces = []
