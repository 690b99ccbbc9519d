"""The configuration's records: every setting with its default, its range and its help text.

The help texts are what `docs/configuration.md` and the error messages say, so they are written
once, here. How a file, the environment and the flags become these records is `config.py`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal

from toolwire.backends.templates.chat_template import ChatTemplate
from toolwire.gateway.strategies.examples import MOST_EXAMPLES
from toolwire.protocol.width import MOST_VALUES
from toolwire.server.config import values
from toolwire.server.config.secret import Secret
from toolwire.surfaces.passing.endpoints import DEFAULT_ENDPOINTS, Endpoint

KIB, MIB = 1024, 1024 * 1024
DAY = 24 * 3600


@dataclass(frozen=True, slots=True)
class Option:
    """The facts about one setting: what it means, what it may be, and where else it is set."""

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
            "allow an address other than loopback although no client keys are configured",
            env="TOOLWIRE_PUBLIC",
            flag="public",
        ),
    ] = False
    allowed_hosts: Annotated[
        tuple[str, ...],
        Option(
            "names in `Host` that are answered beside this machine's own; `*`: any. Without it, "
            "`Host` is checked only where no client keys are configured and `host` is loopback",
            parse=values.host_names,
        ),
    ] = ()
    allowed_origins: Annotated[
        tuple[str, ...],
        Option(
            "origins of web pages that may send requests and read the answers (CORS); `*`: any",
            parse=values.origins,
        ),
    ] = ()
    tls_cert: Annotated[Path | None, Option("certificate chain (PEM): serve HTTPS")] = None
    tls_key: Annotated[Path | None, Option("private key of the certificate (PEM)")] = None


@dataclass(frozen=True, slots=True)
class Limits:
    """What one client may send, and what one backend may answer."""

    body_bytes: Annotated[int, Option("largest request body", KIB, 1024 * MIB)] = 10 * MIB
    bodies_bytes: Annotated[
        int,
        Option(
            "most bytes of request bodies at once, of all clients together, from their first byte "
            "to the end of their answers; bodies up to 64 KiB are always taken",
            MIB,
            1024 * 1024 * MIB,
        ),
    ] = 256 * MIB
    header_bytes: Annotated[int, Option("largest request head", KIB, MIB)] = 64 * KIB
    headers: Annotated[int, Option("most headers in one request", 10, 1000)] = 100
    sse_line_bytes: Annotated[int, Option("longest line a backend may stream", KIB, 256 * MIB)] = (
        8 * MIB
    )
    depth: Annotated[int, Option("deepest nesting of JSON in a request", 8, 512)] = 128
    values: Annotated[
        int,
        Option(
            "most values (members of objects, elements of arrays) in the JSON of one request: more "
            "make other clients wait while they are read",
            1000,
            100_000_000,
        ),
    ] = MOST_VALUES
    messages: Annotated[int, Option("most messages in one request", 1, 1_000_000)] = 10_000
    tools: Annotated[int, Option("most tools in one request", 1, 10_000)] = 128
    tool_bytes: Annotated[int, Option("largest definition of one tool", KIB, 64 * MIB)] = 512 * KIB
    connections: Annotated[
        int,
        Option(
            "most client connections at once: the idlest makes room for a new one", 1, 1_000_000
        ),
    ] = 2048
    requests: Annotated[
        int,
        Option("most requests under way at once: more get a 503 with `Retry-After`", 1, 1_000_000),
    ] = 1024
    strict_properties: Annotated[
        int, Option("most properties in the schema of a strict tool", 1, 100_000)
    ] = 100
    strict_depth: Annotated[
        int, Option("deepest nesting in the schema of a strict tool", 1, 100)
    ] = 5
    schema_cache_bytes: Annotated[
        int, Option("memory for compiled tool schemas; 0 turns the cache off", 0, 1024 * MIB)
    ] = 32 * MIB


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long, in seconds, Toolwire waits before it gives up or says something."""

    connect: Annotated[float, seconds("connecting to a backend", 600)] = 10.0
    first_token: Annotated[float, seconds("a backend's first answer")] = 600.0
    idle: Annotated[float, seconds("silence of a backend within an answer")] = 300.0
    total: Annotated[float, seconds("a whole request, with the time between two attempts")] = 3600.0
    keepalive: Annotated[
        float, seconds("silence before a stream gets a keepalive comment", 3600)
    ] = 15.0
    header: Annotated[float, seconds("a client sending its request head", 600)] = 10.0
    body: Annotated[float, seconds("silence of a client within its request body")] = 10.0
    write: Annotated[float, seconds("a client that does not read its answer")] = 60.0
    idle_connection: Annotated[float, seconds("a client connection without a request")] = 75.0
    queue: Annotated[
        float,
        seconds(
            "a request that waits for its turn when very many come at once, before it gets a 503; "
            "a tenth of it while the rush goes on for longer",
            600,
        ),
    ] = 5.0
    shutdown: Annotated[float, seconds("answers under way when asked to stop", low=0)] = 25.0


@dataclass(frozen=True, slots=True)
class Retries:
    """How often a backend is asked again before anything has been sent to the client."""

    attempts: Annotated[int, Option("further attempts after the first; 0 for none", 0, 20)] = 2
    backoff: Annotated[
        float, Option("seconds before the first further attempt, doubled each time", 0, 60)
    ] = 0.25
    max_retry_after: Annotated[
        float, Option("longest Retry-After, in seconds, that is waited for", 0, 600)
    ] = 10.0


@dataclass(frozen=True, slots=True)
class Repair:
    """What is done about a model's calls that do not fit their tools."""

    off: Annotated[
        tuple[str, ...],
        Option("rules that are switched off: see repairs.md", parse=values.rules),
    ] = ()
    ask_again: Annotated[
        int, Option("how often the model is told what is wrong and asked again", 0, 5)
    ] = 1
    streams: Annotated[
        Literal["live", "whole"],
        Option(
            "calls in a stream: `live`, as they are written; `whole`, when they are complete and "
            "checked, so that they can be repaired and asked for again"
        ),
    ] = "live"
    loop_after: Annotated[
        int, Option("same wrong call so many times: the model is told; 0 for never", 0, 100)
    ] = 3


@dataclass(frozen=True, slots=True)
class Log:
    """What is written to stderr. Never bodies, never keys."""

    level: Annotated[
        Literal["debug", "info", "warning", "error"],
        Option("least severe entry written", env="TOOLWIRE_LOG_LEVEL", flag="log_level"),
    ] = "info"
    format: Annotated[
        Literal["text", "json"],
        Option(
            "lines for people, or one JSON object a line",
            env="TOOLWIRE_LOG_FORMAT",
            flag="log_format",
        ),
    ] = "text"


@dataclass(frozen=True, slots=True)
class TraceFiles:
    """A file for each request that says why it went as it did. Off unless there is a folder."""

    dir: Annotated[
        Path | None,
        Option(
            "folder for the files",
            parse=Path.expanduser,
            env="TOOLWIRE_TRACE_DIR",
            flag="trace_dir",
        ),
    ] = None
    max_bytes: Annotated[
        int, Option("most bytes of files; the oldest are deleted", KIB, 1024 * 1024 * MIB)
    ] = 256 * MIB
    bodies: Annotated[
        bool,
        Option(
            "write what clients and models say, as `toolwire replay` needs; else only its length",
            flag="trace_bodies",
        ),
    ] = False


@dataclass(frozen=True, slots=True)
class Embedded:
    """The model inside Toolwire itself, which a route has as `backend = { url = "embedded:" }`."""

    gguf: Annotated[
        Path | None,
        Option(
            "model file; default: a very small model that is fetched once",
            parse=Path.expanduser,
            env="TOOLWIRE_GGUF",
            flag="gguf",
        ),
    ] = None
    ctx: Annotated[
        int,
        Option(
            "context in tokens; 0: what the model was trained for, at most 16384",
            0,
            10_000_000,
            env="TOOLWIRE_CTX",
            flag="ctx",
        ),
    ] = 0
    threads: Annotated[
        int,
        Option("threads; 0: half of the cores", 0, 512, env="TOOLWIRE_THREADS", flag="threads"),
    ] = 0


@dataclass(frozen=True, slots=True)
class ClientKey:
    """A key of one of our own clients. Only its hash is kept."""

    name: Annotated[str, Option("whose key it is; shown in logs", parse=values.label)]
    sha256: Annotated[
        str,
        Option(
            'SHA-256 of the key, in hex: `printf %s "$KEY" | sha256sum`',
            parse=values.sha256,
            show=values.hidden,
        ),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendConfig:
    """One server that runs a model, and how to speak to it."""

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
        Option("request parameters to forward beside the dialect's", parse=values.parameters),
    ] = ()
    params_remove: Annotated[
        tuple[str, ...],
        Option("request parameters of the dialect not to forward", parse=values.parameters),
    ] = ()
    call_ids: Annotated[
        Literal["openai", "mistral", "kimi", "keep"] | None,
        Option("form of the call ids it demands; default: the dialect's"),
    ] = None
    constraint: Annotated[
        Literal["none", "json_schema", "structured_outputs", "guided_json", "grammar"] | None,
        Option(
            "in which form it takes the JSON Schema that calls must fit, where tools are written "
            "into the prompt; `none`: it takes none; default: the dialect's"
        ),
    ] = None
    chat_template: Annotated[
        ChatTemplate | None,
        Option(
            "for a server that has only `/completions`: a file with the model's chat template, "
            "which makes prompts of messages: `.jinja`, `tokenizer_config.json`, "
            "`chat_template.json` or `.gguf`"
        ),
    ] = field(default=None, repr=False)
    custom_tools: Annotated[bool, Option("takes tools of type `custom`")] = False
    headers: Annotated[
        Mapping[str, str],
        Option("headers to send with every request", parse=values.headers, show=values.hidden),
    ] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    timeouts: Annotated[
        Timeouts | None,
        Option("time limits of this backend; what is not named is as in `[timeouts]`"),
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
        Option('name clients use; `"*"` is any other name, sent on as it is', parse=values.label),
    ]
    backends: Annotated[
        tuple[BackendConfig, ...],
        Option(
            "`[[models.backends]]`, or a single `backend = { url = ... }`",
            keys=("backends", "backend"),
        ),
    ]
    format: Annotated[
        str | None,
        Option(
            "the model's tool-call format; default: by its chat template if that is known, else "
            "by its name",
            parse=values.format_name,
        ),
    ] = None
    mode: Annotated[
        Literal["native", "hybrid", "prompted", "auto"],
        Option(
            "`native`: the backend has tools; `prompted`: tools are written into the prompt; "
            "`hybrid`: native, and calls written as text are found, too; `auto`: `hybrid`, and "
            "`prompted` for a backend that turns out to have no tools",
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
            "for a weak model whose tools are written into the prompt: how many calls of other "
            "tools it is shown before the conversation; default: none, and for the embedded "
            "default model what it does best with",
            0,
            MOST_EXAMPLES,
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class Config:
    """Everything that can be set, checked and ready for use."""

    models: Annotated[tuple[RouteConfig, ...], Option("the models that are served")] = ()
    keys: Annotated[tuple[ClientKey, ...], Option("keys of our own clients; none: open")] = ()
    listen: Annotated[Listen, Option("where Toolwire listens")] = Listen()
    limits: Annotated[Limits, Option("sizes and counts")] = Limits()
    timeouts: Annotated[Timeouts, Option("time limits")] = Timeouts()
    retries: Annotated[Retries, Option("asking a backend again")] = Retries()
    repair: Annotated[Repair, Option("calls that do not fit")] = Repair()
    log: Annotated[Log, Option("what is written to stderr")] = Log()
    trace: Annotated[TraceFiles, Option("why requests went as they did")] = TraceFiles()
    embedded: Annotated[Embedded, Option("the model inside Toolwire")] = Embedded()
    history: Annotated[
        Literal["refuse", "repair"],
        Option("a broken history of calls: refuse it as OpenAI does, or mend it and say so"),
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
            "which other `/v1/*` requests are passed on to the backend: see below; `[]`: none",
            parse=values.endpoints,
        ),
    ] = values.endpoints(DEFAULT_ENDPOINTS)

    @property
    def serves_embedded(self) -> bool:
        """Whether a model of ours is the embedded one."""
        return any(b.is_embedded for route in self.models for b in route.backends)
