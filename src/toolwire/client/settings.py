"""Connection settings, from arguments or the environment."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from toolwire import __version__
from toolwire.client.errors import ConfigurationError

LOCAL = "http://127.0.0.1:8181/v1"
"""Where `toolwire serve` listens."""
OPENAI = "https://api.openai.com/v1"


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings shared by all requests of a client."""

    base_url: str
    api_key: str | None = field(repr=False)
    model: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    max_retries: int = 2

    @property
    def root_url(self) -> str:
        """The server's root, where Toolwire's native API begins."""
        return self.base_url.removesuffix("/v1")

    @property
    def shown_url(self) -> str:
        """The URL for messages, without its password."""
        scheme, _, rest = self.base_url.partition("://")
        place, slash, path = rest.partition("/")
        return f"{scheme}://{place.rpartition('@')[2]}{slash}{path}"

    def request_headers(self) -> dict[str, str]:
        """The headers of each request."""
        own = {"user-agent": f"toolwire-python/{__version__}", "content-type": "application/json"}
        if self.api_key:
            own["authorization"] = f"Bearer {self.api_key}"
        return {**own, **{name.lower(): value for name, value in self.headers.items()}}


def find_settings(
    env: Mapping[str, str],
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    model: str | None = None,
    headers: Mapping[str, str] | None = None,
    max_retries: int = 2,
) -> Settings:
    """Fill in missing settings from the environment."""
    url = base_url or env.get("TOOLWIRE_BASE_URL") or env.get("OPENAI_BASE_URL")
    key = api_key if api_key is not None else _key(env, base_url)
    if url is None or not url.strip():
        url = OPENAI if key and key == env.get("OPENAI_API_KEY") else LOCAL
    return Settings(
        base_url=_checked(url.strip()),
        api_key=key,
        model=model or env.get("TOOLWIRE_MODEL") or None,
        headers=dict(headers or {}),
        max_retries=max_retries,
    )


def _key(env: Mapping[str, str], base_url: str | None) -> str | None:
    """Find the key. OpenAI's key is not sent to a server set by Toolwire's own variable."""
    if key := env.get("TOOLWIRE_API_KEY"):
        return key
    if base_url is None and env.get("TOOLWIRE_BASE_URL"):
        return None
    return env.get("OPENAI_API_KEY") or None


def _checked(url: str) -> str:
    if not url.startswith(("http://", "https://")):
        raise ConfigurationError(
            f"base_url {url!r} is not a URL. Write it with its scheme, such as {LOCAL!r}."
        )
    return url.rstrip("/")
