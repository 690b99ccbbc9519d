"""The base URL of a backend, parsed."""

from urllib.parse import urlsplit

import msgspec


class Origin(msgspec.Struct, frozen=True):
    """A parsed base URL. Parsed once, so the address that is checked is the one that is dialled."""

    host: str
    port: int
    tls: bool
    path: str

    @classmethod
    def of(cls, url: str) -> "Origin":
        """Parse a base URL such as `http://127.0.0.1:8000/v1`."""
        parts = urlsplit(url)
        tls = parts.scheme == "https"
        return cls(
            parts.hostname or "", parts.port or (443 if tls else 80), tls, parts.path.rstrip("/")
        )

    @property
    def root(self) -> str:
        """The path above the API's, for endpoints outside the API."""
        return self.path.removesuffix("/v1")

    @property
    def authority(self) -> str:
        """The Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.tls else 80) else f"{host}:{self.port}"
