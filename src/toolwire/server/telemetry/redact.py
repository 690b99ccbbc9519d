"""Masks secrets in texts such as logs, errors and traces.

It masks the configured secrets, client keys that were used, and anything that looks like a key.
Every pattern is linear, because an error text may be hostile.
"""

import json
import re
from collections.abc import Iterable
from urllib.parse import quote

MASK = "***"
SHORTEST_SECRET = 8  # "EMPTY", "ollama" and "none" are not secrets, and masking them hides facts
MOST_SEEN = 1024

# Every alternative begins with a plain character, so that `re` can skip to the next candidate
# instead of trying each one at each position: ten times faster on a long text.
_PREFIXES = ("sk", "tw", "pk", "gsk", "xai", "hf")
_PARAMETER = r"(?i:api[-_]?key|key|token|access_token|secret)=[^\s&\"'#]{1,4096}"
_API_KEY = r"-(?i:api-key)[\"']?[ \t]{0,4}[:=][ \t]{0,4}[\"']?[^\s\"',;]{4,}"
_SHAPES = re.compile(
    "|".join(
        (
            r"Bearer[ \t]{1,4}[^\s\"',;]{4,}",
            r"bearer[ \t]{1,4}[^\s\"',;]{4,}",
            "x" + _API_KEY,
            "X" + _API_KEY,
            r"/(?<=://)[^\s/@?#]{1,512}(?=@)",
            r"\?" + _PARAMETER,
            r"&" + _PARAMETER,
            # The look-behind keeps "task-management" from being taken for a key.
            *(
                rf"{prefix[0]}(?<![A-Za-z0-9]{prefix[0]}){prefix[1:]}[-_][A-Za-z0-9_-]{{8,}}"
                for prefix in _PREFIXES
            ),
        )
    )
)


def clip(text: str, limit: int = 200) -> str:
    """Truncate a text to `limit` characters, with an ellipsis."""
    return text if len(text) <= limit else text[:limit] + "…"


class Redactor:
    """Replaces every secret in a text by `***`."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._configured = [form for secret in secrets for form in _forms(secret)]
        self._seen: dict[str, tuple[str, ...]] = {}
        self._learn()

    def see(self, secret: str) -> bool:
        """Mask this client key from now on. Returns whether it was unknown."""
        if secret in self._seen or not _forms(secret):
            return False
        if len(self._seen) >= MOST_SEEN:
            del self._seen[next(iter(self._seen))]
        self._seen[secret] = _forms(secret)
        self._learn()
        return True

    def redact(self, text: str, limit: int | None = None) -> str:
        """Return the text, or its first `limit` characters, with secrets masked.

        Truncating the text before masking could leave half a secret, so this does both.
        """
        end = len(text) if limit is None else limit
        window = text[: end + self._longest]
        pieces: list[str] = []
        at = 0
        for start, stop in self._spans(window):
            if start >= end:
                break
            if start >= at:
                pieces += (window[at:start], MASK)
            at = max(at, stop)
        pieces.append(window[at : max(at, end)])
        if len(text) > end:
            pieces.append("…")
        return "".join(pieces)

    def _spans(self, text: str) -> list[tuple[int, int]]:
        """Return the spans of secrets, in order; they may overlap."""
        spans = [_kept_start(match) for match in _SHAPES.finditer(text)]
        for form in self._forms:
            if len(form) > len(text):
                break
            start = text.find(form)
            while start >= 0:
                spans.append((start, start + len(form)))
                start = text.find(form, start + len(form))
        spans.sort()
        return spans

    def _learn(self) -> None:
        seen = (form for forms in self._seen.values() for form in forms)
        self._forms = sorted({*self._configured, *seen}, key=len)
        self._longest = len(self._forms[-1]) if self._forms else 0


def _kept_start(match: re.Match[str]) -> tuple[int, int]:
    """Return the span of a match, without the character that precedes the secret."""
    start, stop = match.span()
    return start + (match[0][0] in "/?&"), stop


def _forms(secret: str) -> tuple[str, ...]:
    """Return the spellings of a secret: plain, in a URL, in JSON. Empty if it is too short."""
    if len(secret) < SHORTEST_SECRET:
        return ()
    return secret, quote(secret, safe=""), json.dumps(secret)[1:-1]
