"""The configuration's records: every setting with its default, its range and its help text.

`docs/configuration.md` and the error messages use these help texts. `loader.py` turns a file, the
environment and the flags into these records.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal

from toolwire.backends.templates.chat_template import ChatTemplate
from toolwire.gateway.routes import is_pattern
from toolwire.gateway.strategies.examples import MOST_EXAMPLES
from toolwire.protocol.json_limits import MOST_VALUES
from toolwire.server.config import values
from toolwire.server.config.secret import Secret
from toolwire.surfaces.passing.endpoints import DEFAULT_ENDPOINTS, Endpoint

KIB, MIB = 1024, 1024 * 1024
DAY = 24 * 3600


@dataclass(frozen=True, slots=True)
class Option:
    """One setting: its meaning, its range, and its flag and environment variable."""

    help: str
    low: float | None = None
    high: float | None = None
    parse: Callable[[Any], Any] | None = None
    show: Callable[[object], str] = values.plain
    env: str = ""
    flag: str = ""
    keys: tuple[str, ...] = ()  # its keys in the file, if they are not the field's name
    aliases: tuple[tuple[str, str], ...] = ()  # other spellings that are accepted


def seconds(text: str, high: float = DAY, low: float = 0.01) -> Option:
    """A time limit."""
    return Option(text, low, high)


@dataclass(frozen=True, slots=True)
class Listen:
    """Where Toolwire listens."""

    host: Annotated[
        str, Option("address to listen on", parse=values.host, env="TOOLWIRE_HOST", flag="host")
    ] = "127.0.0.1"
    port: Annotated[
        int,
        Option("port; 0 lets the system choose", 0, 65535, env="TOOLWIRE_PORT", flag="port"),
    ] = 8181
    public: Annotated[
        bool,
        Option(
            "allow an address other than loopback without client keys",
            env="TOOLWIRE_PUBLIC",
            flag="public",
        ),
    ] = False
    allowed_hosts: Annotated[
        tuple[str, ...],
        Option(
            "names that are accepted in `Host`, in addition to this machine's own; `*`: any. If it "
            "is not set, `Host` is checked only without client keys and on loopback",
            parse=values.host_names,
        ),
    ] = ()
    allowed_origins: Annotated[
        tuple[str, ...],
        Option(
            "origins of web pages that may send requests and read answers (CORS); `*`: any",
            parse=values.origins,
        ),
    ] = ()
    loop: Annotated[
        Literal["auto", "uvloop", "asyncio"],
        Option(
            "event loop; `auto`: uvloop if it is installed, as it is on Linux and macOS, else "
            "asyncio's, which is slower",
            env="TOOLWIRE_LOOP",
        ),
    ] = "auto"
    tls_cert: Annotated[Path | None, Option("certificate chain (PEM): serve HTTPS")] = None
    tls_key: Annotated[Path | None, Option("private key of the certificate (PEM)")] = None


@dataclass(frozen=True, slots=True)
class Limits:
    """How much clients may send and backends may answer."""

    body_bytes: Annotated[int, Option("maximum size of a request body", KIB, 1024 * MIB)] = 10 * MIB
    bodies_bytes: Annotated[
        int,
        Option(
            "maximum size of all request bodies together; a body counts until its answer ends; "
            "bodies of up to 64 KiB are always accepted",
            MIB,
            1024 * 1024 * MIB,
        ),
    ] = 256 * MIB
    header_bytes: Annotated[int, Option("maximum size of a request's head", KIB, MIB)] = 64 * KIB
    headers: Annotated[int, Option("maximum number of headers in a request", 10, 1000)] = 100
    sse_line_bytes: Annotated[
        int, Option("maximum length of a line that a backend streams", KIB, 256 * MIB)
    ] = 8 * MIB
    depth: Annotated[int, Option("maximum nesting of JSON in a request", 8, 512)] = 128
    values: Annotated[
        int,
        Option(
            "maximum number of values (members of objects, elements of arrays) in the JSON of a "
            "request; reading more would block other clients",
            1000,
            100_000_000,
        ),
    ] = MOST_VALUES
    messages: Annotated[int, Option("maximum number of messages in a request", 1, 1_000_000)] = (
        10_000
    )
    tools: Annotated[int, Option("maximum number of tools in a request", 1, 10_000)] = 128
    tool_bytes: Annotated[int, Option("maximum size of a tool's definition", KIB, 64 * MIB)] = (
        512 * KIB
    )
    connections: Annotated[
        int,
        Option(
            "maximum number of client connections; beyond it, the one that has been idle for "
            "longest is closed",
            1,
            1_000_000,
        ),
    ] = 2048
    requests: Annotated[
        int,
        Option(
            "maximum number of concurrent requests; more get a 503 with `Retry-After`", 1, 1_000_000
        ),
    ] = 1024
    strict_properties: Annotated[
        int, Option("maximum number of properties in the schema of a strict tool", 1, 100_000)
    ] = 100
    strict_depth: Annotated[
        int, Option("maximum nesting in the schema of a strict tool", 1, 100)
    ] = 5
    schema_cache_bytes: Annotated[
        int, Option("memory for compiled tool schemas; 0 disables the cache", 0, 1024 * MIB)
    ] = 32 * MIB


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Time limits, in seconds."""

    connect: Annotated[float, seconds("connecting to a backend", 600)] = 10.0
    first_token: Annotated[float, seconds("waiting for a backend's first token")] = 600.0
    idle: Annotated[float, seconds("silence of a backend within its answer")] = 300.0
    total: Annotated[float, seconds("a whole request, including retries")] = 3600.0
    keepalive: Annotated[
        float, seconds("silence after which a stream gets a keepalive comment", 3600)
    ] = 15.0
    header: Annotated[float, seconds("receiving the head of a request", 600)] = 10.0
    body: Annotated[float, seconds("silence of a client within its request body")] = 10.0
    write: Annotated[float, seconds("a client that does not read its answer")] = 60.0
    idle_connection: Annotated[float, seconds("a client connection without a request")] = 75.0
    queue: Annotated[
        float,
        seconds(
            "how long a request may wait in the queue under overload before it gets a 503; a tenth "
            "of this if the overload lasts",
            600,
        ),
    ] = 5.0
    shutdown: Annotated[float, seconds("finishing answers at shutdown", low=0)] = 25.0


@dataclass(frozen=True, slots=True)
class Retries:
    """Retries of a failed request, as long as nothing has been sent to the client."""

    attempts: Annotated[int, Option("retries after the first attempt; 0: none", 0, 20)] = 2
    backoff: Annotated[
        float, Option("seconds before the first retry; doubled each time", 0, 60)
    ] = 0.25
    max_retry_after: Annotated[
        float, Option("longest `Retry-After`, in seconds, to wait for", 0, 600)
    ] = 10.0


@dataclass(frozen=True, slots=True)
class Repair:
    """What to do about calls that do not match their tool's schema: see [repairs](repairs.md)."""

    off: Annotated[
        tuple[str, ...],
        Option("names of rules to disable", parse=values.rules),
    ] = ()
    ask_again: Annotated[
        int, Option("how often the model is told what is wrong and asked again", 0, 5)
    ] = 1
    streams: Annotated[
        Literal["auto", "live", "whole"],
        Option(
            "when calls are streamed: `live`, as the model writes them; `whole`, once they are "
            "complete and checked, so that they can be repaired, asked for again, or made by "
            "another attempt if the backend fails; `auto`, live for clients that show arguments as "
            "they arrive, whole for others"
        ),
    ] = "auto"
    loop_after: Annotated[
        int,
        Option("number of identical invalid calls before the model is warned; 0: never", 0, 100),
    ] = 3


@dataclass(frozen=True, slots=True)
class Log:
    """Logging to stderr. Bodies and keys are never logged."""

    level: Annotated[
        Literal["debug", "info", "warning", "error"],
        Option("least severe level to log", env="TOOLWIRE_LOG_LEVEL", flag="log_level"),
    ] = "info"
    format: Annotated[
        Literal["text", "json"],
        Option(
            "plain text, or one JSON object per line",
            env="TOOLWIRE_LOG_FORMAT",
            flag="log_format",
        ),
    ] = "text"


@dataclass(frozen=True, slots=True)
class Health:
    """Whether backends are there: at start, and for `/readyz`."""

    ready: Annotated[
        Literal["listening", "backend"],
        Option(
            "when `/readyz` answers 200: `listening`: while requests are accepted; `backend`: only "
            "while at least one backend answers, too",
            env="TOOLWIRE_READY",
        ),
    ] = "listening"
    interval: Annotated[
        float,
        seconds("for `backend`: seconds between two requests for a backend's models", 3600, 0.1),
    ] = 5.0
    probe_at_start: Annotated[
        bool,
        Option(
            "ask each backend at start what it is and which models it has, and print the answer; "
            "`false` for a server that any request would wake up",
            env="TOOLWIRE_PROBE_AT_START",
        ),
    ] = True


@dataclass(frozen=True, slots=True)
class TraceFiles:
    """One file per request that records what happened: see [traces](traces.md)."""

    dir: Annotated[
        Path | None,
        Option(
            "folder for the files; tracing is off without it",
            parse=Path.expanduser,
            env="TOOLWIRE_TRACE_DIR",
            flag="trace_dir",
        ),
    ] = None
    max_bytes: Annotated[
        int, Option("maximum size of all files; the oldest are deleted", KIB, 1024 * 1024 * MIB)
    ] = 256 * MIB
    bodies: Annotated[
        bool,
        Option(
            "record what clients and models wrote, as `toolwire replay` needs; else only lengths",
            flag="trace_bodies",
        ),
    ] = False


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """Where conversations are stored, and how much of them: see [sessions](sessions.md)."""

    store: Annotated[
        str,
        Option(
            "`sqlite:PATH`, `redis://...`, `rediss://...`, `memory`, or `off`; default: a file in "
            "`$XDG_STATE_HOME/toolwire` or `~/.local/state/toolwire`",
            parse=values.store,
            show=values.without_credentials,
            env="TOOLWIRE_SESSIONS",
            flag="sessions",
        ),
    ] = field(default=values.DEFAULT_STORE, repr=False)
    ttl: Annotated[
        float, seconds("how long something is kept after it was last written", 3650 * DAY, 1)
    ] = 30.0 * DAY
    max_turns: Annotated[int, Option("maximum turns of a conversation", 1, 1_000_000)] = 1000
    max_bytes: Annotated[
        int, Option("maximum size of a conversation as it is stored", KIB, 256 * MIB)
    ] = 8 * MIB
    max_conversations: Annotated[
        int, Option("maximum number of conversations of a client key", 1, 100_000_000)
    ] = 10_000
    required: Annotated[bool, Option("whether `/readyz` fails while the store is unavailable")] = (
        False
    )


@dataclass(frozen=True, slots=True)
class Embedded:
    """The embedded model, used by a route with `backend = { url = "embedded:" }`."""

    gguf: Annotated[
        Path | None,
        Option(
            "model file; default: a very small model that is downloaded once",
            parse=Path.expanduser,
            env="TOOLWIRE_GGUF",
            flag="gguf",
        ),
    ] = None
    ctx: Annotated[
        int,
        Option(
            "context size in tokens; 0: as the model was trained, up to 16384",
            0,
            10_000_000,
            env="TOOLWIRE_CTX",
            flag="ctx",
        ),
    ] = 0
    threads: Annotated[
        int,
        Option(
            "number of threads; 0: half of the cores",
            0,
            512,
            env="TOOLWIRE_THREADS",
            flag="threads",
        ),
    ] = 0
    warm_up: Annotated[
        bool,
        Option(
            "read a first prompt at start, until a request comes, so that the first answer does "
            "not take longer than later ones",
            env="TOOLWIRE_WARM_UP",
        ),
    ] = True


@dataclass(frozen=True, slots=True)
class ClientKey:
    """An API key of a client. Only its hash is stored."""

    name: Annotated[str, Option("the client's name, shown in logs", parse=values.label)]
    sha256: Annotated[
        str,
        Option(
            'SHA-256 of the key, in hex: `printf %s "$KEY" | sha256sum`',
            parse=values.sha256,
            show=values.hidden,
        ),
    ]
    inspects: Annotated[
        bool,
        Option("whether the [inspector](inspector.md) shows this key the requests of all keys"),
    ] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendConfig:
    """A server that runs a model."""

    name: Annotated[
        str, Option("name in logs and metrics; default: the URL's host", parse=values.label)
    ] = ""
    url: Annotated[
        str,
        Option(
            "base URL, such as `http://localhost:8000/v1`, or `embedded:`",
            parse=values.url,
            show=values.without_credentials,
        ),
    ]
    key: Annotated[
        Secret | None,
        Option("NAME of the environment variable that holds the backend's key", keys=("key_env",)),
    ] = None
    model: Annotated[
        str | None,
        Option("model name to send; default: the one the client sent", parse=values.label),
    ] = None
    dialect: Annotated[
        str, Option("which kind of server it is: see Dialects", parse=values.dialect)
    ] = "auto"
    params_add: Annotated[
        tuple[str, ...],
        Option(
            "request parameters to forward in addition to the dialect's", parse=values.parameters
        ),
    ] = ()
    params_remove: Annotated[
        tuple[str, ...],
        Option("request parameters of the dialect not to forward", parse=values.parameters),
    ] = ()
    call_ids: Annotated[
        Literal["openai", "mistral", "kimi", "keep"] | None,
        Option("required form of call ids; default: the dialect's"),
    ] = None
    constraint: Annotated[
        Literal["none", "json_schema", "structured_outputs", "guided_json", "grammar"] | None,
        Option(
            "how the server takes a JSON Schema for its answer, used if tools are written into the "
            "prompt; `none`: not at all; default: the dialect's"
        ),
    ] = None
    chat_template: Annotated[
        ChatTemplate | None,
        Option(
            "for a server with only `/completions`: a file with the model's chat template: "
            "`.jinja`, `tokenizer_config.json`, `chat_template.json` or `.gguf`"
        ),
    ] = field(default=None, repr=False)
    custom_tools: Annotated[bool, Option("whether the server supports tools of type `custom`")] = (
        False
    )
    headers: Annotated[
        Mapping[str, str],
        Option("headers to send with every request", parse=values.headers, show=values.hidden),
    ] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    timeouts: Annotated[
        Timeouts | None,
        Option("time limits of this backend; the default of each is in `[timeouts]`"),
    ] = None

    @property
    def is_embedded(self) -> bool:
        """Whether it is the model inside this process."""
        return self.url == values.EMBEDDED


@dataclass(frozen=True, slots=True)
class RouteConfig:
    """A model name that clients use, and the backends that serve it."""

    name: Annotated[
        str,
        Option(
            'the name clients use; `"*"`: any other name, `"claude-*"`: any name that begins so, '
            "forwarded as it is",
            parse=values.pattern,
        ),
    ]
    backends: Annotated[
        tuple[BackendConfig, ...],
        Option(
            "`[[models.backends]]`, or a single `backend = { url = ... }`. The least busy one is "
            "asked; requests with one `prompt_cache_key`, or of one session, prefer the same one",
            keys=("backends", "backend"),
        ),
    ]
    aliases: Annotated[
        tuple[str, ...],
        Option(
            'other names for this model, such as `["gpt-5", "claude-*"]`: an exact name comes '
            "before a pattern, and a longer pattern before a shorter one. The backend is sent "
            "`model`, or the route's name",
            parse=values.patterns,
        ),
    ] = ()
    format: Annotated[
        str | None,
        Option(
            "the model's tool-call format; default: detected from its chat template, if known, or "
            "its name",
            parse=values.format_name,
        ),
    ] = None
    mode: Annotated[
        Literal["native", "hybrid", "prompted", "auto"],
        Option(
            "`native`: the backend supports tools; `prompted`: tools are written into the prompt; "
            "`hybrid`: native, and calls in text are found too; `auto`: `hybrid`, or `prompted` "
            "for a backend that turns out not to support tools",
            aliases=(("watched", "hybrid"),),
        ),
    ] = "auto"
    tokenizer: Annotated[
        str | None,
        Option(
            "counts tokens where a backend gives no usage: `server` (its `/tokenize`), or the path "
            "of a `tokenizer.json` (needs `toolwire[tokenizers]`); default: an estimate, marked"
        ),
    ] = None
    examples: Annotated[
        int | None,
        Option(
            "number of example calls (of other tools) to put before the conversation, for a weak "
            "model with prompted tools; default: 0, and for the embedded default model the best "
            "number that was measured",
            0,
            MOST_EXAMPLES,
        ),
    ] = None

    tools_allowed: Annotated[
        tuple[str, ...] | None,
        Option(
            'patterns of the tools that the model is offered, such as `["Read", "mcp__*"]`; '
            "default: all that the client sends; see [small models](small-models.md)",
            parse=values.tool_patterns,
        ),
    ] = None
    tools_denied: Annotated[
        tuple[str, ...],
        Option(
            "patterns of tools that the model is not offered, even if `tools_allowed` has them",
            parse=values.tool_patterns,
        ),
    ] = ()
    tool_description_chars: Annotated[
        int | None,
        Option(
            "maximum length of a tool's description; more is cut at the end of a sentence; 0: no "
            "description; default: no limit",
            0,
            1_000_000,
        ),
    ] = None
    parameter_description_chars: Annotated[
        int | None,
        Option("the same for each description within a tool's schema", 0, 1_000_000),
    ] = None

    @property
    def fixed_name(self) -> str | None:
        """The model's own name, whatever clients call it; None for a pattern."""
        return None if is_pattern(self.name) else self.name


@dataclass(frozen=True, slots=True)
class NativeSettings:
    """The native API: see [native-api](native-api.md)."""

    call_map_key: Annotated[
        Secret | None,
        Option(
            "NAME of the environment variable that holds the key that `toolwire-call-map` is "
            "signed with; default: a random key, which only works with a single process",
            keys=("call_map_key_env",),
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class Config:
    """The whole configuration, validated."""

    models: Annotated[tuple[RouteConfig, ...], Option("the models that are served")] = ()
    keys: Annotated[
        tuple[ClientKey, ...], Option("client keys; without any, no key is required")
    ] = ()
    listen: Annotated[Listen, Option("where Toolwire listens")] = Listen()
    limits: Annotated[Limits, Option("sizes and counts")] = Limits()
    timeouts: Annotated[Timeouts, Option("time limits")] = Timeouts()
    retries: Annotated[Retries, Option("retries of failed requests")] = Retries()
    repair: Annotated[Repair, Option("invalid calls")] = Repair()
    log: Annotated[Log, Option("logging")] = Log()
    health: Annotated[Health, Option("whether backends are there")] = Health()
    trace: Annotated[TraceFiles, Option("traces of requests")] = TraceFiles()
    embedded: Annotated[Embedded, Option("the embedded model")] = Embedded()
    sessions: Annotated[SessionSettings, Option("stored conversations")] = SessionSettings()
    native: Annotated[NativeSettings, Option("the native API")] = NativeSettings()
    history: Annotated[
        Literal["refuse", "repair"],
        Option(
            "a history whose calls and results do not match: refuse it, as OpenAI does, or repair "
            "it and report that"
        ),
    ] = "refuse"
    strict_parallel: Annotated[
        Literal["off", "validate"],
        Option(
            "strict tools and `parallel_tool_calls: true`: `off`: one call a turn; `validate`: "
            "several, each checked"
        ),
    ] = "off"
    passthrough: Annotated[
        tuple[Endpoint, ...],
        Option(
            "other `/v1/*` requests that are passed on to the backend: see below; `[]`: none",
            parse=values.endpoints,
        ),
    ] = values.endpoints(DEFAULT_ENDPOINTS)

    inspector: Annotated[
        bool,
        Option(
            "serve the [inspector](inspector.md) at `/inspector`; never served on an address other "
            "than loopback without client keys"
        ),
    ] = True

    @property
    def has_inspector(self) -> bool:
        """Whether the inspector is served: not to everybody who can reach this machine."""
        return self.inspector and (values.is_loopback(self.listen.host) or bool(self.keys))

    @property
    def serves_embedded(self) -> bool:
        """Whether any served model is the embedded one."""
        return any(b.is_embedded for route in self.models for b in route.backends)
