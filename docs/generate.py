"""Generates the pages of `docs/` that come from the code: one function per page.

`make docs` runs it. A test checks that the committed pages are current.
"""

import html
import json
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from toolwire import errors as gateway_errors
from toolwire.backends.dialects import DIALECTS, MANY, Dialect
from toolwire.backends.templates.chat_template import ChatTemplate
from toolwire.conformance import cases_of
from toolwire.formats import Format, get
from toolwire.formats import names as format_names
from toolwire.gateway.repair.rules import TEXT_RULES, VALUE_RULES
from toolwire.server.config.fields import Setting, settings_of
from toolwire.server.config.settings import (
    BackendConfig,
    ClientKey,
    Config,
    Embedded,
    Health,
    Listen,
    Log,
    NativeSettings,
    Repair,
    Retries,
    RouteConfig,
    ServerLimits,
    SessionSettings,
    Timeouts,
    TraceFiles,
)
from toolwire.server.telemetry.metrics import Metrics
from toolwire.server.telemetry.metrics_text import Collected
from toolwire.surfaces.passing.endpoints import DEFAULT_ENDPOINTS

sys.path.insert(0, str(Path(__file__).parents[1]))  # the rows are told by the tests
from docs import clients_page, messages_page, native_page, responses_page
from docs.api_reference import reference
from docs.model_names import readable
from tests.fuzz.targets import TARGETS
from tests.hard.rows import ROWS, Row

DOCS = Path(__file__).parent
MOST_FIGURES = 6

EXAMPLE = """\
history = "refuse"              # top-level keys come before the first [table]

[listen]
host = "127.0.0.1"
port = 8181

[[keys]]                        # clients send the key itself; only its hash is stored here
name = "laptop"
sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

[[models]]                      # one backend
name = "qwen3-coder"
aliases = ["claude-*", "gpt-*"] # agents ask for small models of their vendor, too
backend = { url = "http://localhost:8000/v1", dialect = "vllm" }

[[models]]                      # several backends: least busy first, with failover
name = "gpt-5"
[[models.backends]]
url = "https://api.openai.com/v1"
key_env = "OPENAI_API_KEY"      # the NAME of the variable that holds the key
[[models.backends]]
url = "https://openrouter.ai/api/v1"
key_env = "OPENROUTER_API_KEY"
dialect = "openrouter"
model = "openai/gpt-5"
timeouts = { first_token = 60 }

[[models]]                      # any other name is forwarded as it is
name = "*"
backend = { url = "http://localhost:11434/v1", dialect = "ollama" }
"""

ACCESS_LINE = (
    "2026-03-04T10:20:30.400Z INFO  200    812.5ms POST /v1/chat/completions model=qwen3 "
    "backend=gpu-1 mode=hybrid:hermes key=laptop stream=yes sent=4313 tokens=812+64 first=95.2ms "
    "retries=0 repairs=- id=req_..."
)

PROMPTS = """\
[[models]]
name = "raw"
[[models.backends]]
url = "http://localhost:8080/v1"
dialect = "llamacpp"
chat_template = "models/qwen2.5-7b.gguf"   # relative to this file
"""

UPSTREAM = (
    ("`--gguf FILE`", "`TOOLWIRE_GGUF`", "model file to run inside Toolwire; see `[embedded]`"),
    ("`--upstream`, repeatable", "`TOOLWIRE_UPSTREAM`, separated by spaces", "base URL"),
    ("`--upstream-key-env NAME`", "`TOOLWIRE_UPSTREAM_KEY` (the key itself)", "its key"),
    ("`--upstream-dialect`", "`TOOLWIRE_UPSTREAM_DIALECT`", "its dialect; default: found out"),
    ("`--upstream-mode`", "`TOOLWIRE_UPSTREAM_MODE`", "its `mode`, as in `[[models]]`"),
    ("`--upstream-format`", "`TOOLWIRE_UPSTREAM_FORMAT`", "its `format`, as in `[[models]]`"),
    (
        "`--model-alias ALIAS=MODEL`, repeatable",
        "`TOOLWIRE_MODEL_ALIAS`, separated by spaces",
        "another name for a model, as `aliases` in `[[models]]`, such as `claude-*=qwen3-coder`",
    ),
    (
        "`--chat-template FILE`",
        "`TOOLWIRE_CHAT_TEMPLATE`",
        "the model's chat template, for a server with only `/completions`",
    ),
    ("", "`TOOLWIRE_API_KEY`", "a client key, beside those of the file"),
    (
        "",
        "`TOOLWIRE_BASE_URL`, `TOOLWIRE_MODEL`",
        "where the [Python client](client.md) and `toolwire chat` send requests, and for which "
        "model; the key they send is `TOOLWIRE_API_KEY`",
    ),
    ("", "`TOOLWIRE_CACHE`", "folder for the embedded model; default `~/.cache/toolwire`"),
    ("`-c`, `--config FILE`", "", "the file; default: `./toolwire.toml`, if it exists"),
)

SECTIONS: tuple[tuple[str, type[Any]], ...] = (
    ("[listen]", Listen),
    ("[[models]]", RouteConfig),
    ("[[models.backends]]", BackendConfig),
    ("[embedded]", Embedded),
    ("[[keys]]", ClientKey),
    ("[limits]", ServerLimits),
    ("[timeouts]", Timeouts),
    ("[retries]", Retries),
    ("[repair]", Repair),
    ("[log]", Log),
    ("[health]", Health),
    ("[trace]", TraceFiles),
    ("[sessions]", SessionSettings),
    ("[native]", NativeSettings),
)


def configuration() -> str:
    """The page about every setting."""
    scalars = [s for s in settings_of(Config) if get_origin(s.kind) is Literal or s.kind is bool]
    parts = [
        "# Configuration",
        "Toolwire works without a file. This serves all models of a server, on this machine only:",
        "```sh\ntoolwire serve --upstream http://localhost:8000/v1\n```",
        "For anything else, write a `toolwire.toml`. `toolwire check` validates it and tries each "
        "backend. Errors name the line and what to do.",
        f"```toml\n{EXAMPLE}```",
        "A flag overrides an environment variable, and a variable overrides the file, for each "
        "setting. Keys of backends are never in the file: `key_env` names the environment variable "
        "that holds the key.",
        "## Without a file",
        "An upstream or a model file given here replaces the model `*`; other models in the file "
        "stay. If there is no model at all, the embedded model serves every name.",
        table(("flag", "environment variable", "what it is"), UPSTREAM),
        "Clients may ask for other names than a model's own: agents send side requests (titles, "
        "summaries, sub-agents) to small models of their vendor, and a 404 breaks them. `aliases` "
        "of a model, or `--model-alias`, are such names; `claude-*` is every name that begins so. "
        "An exact name comes first, then the longest pattern, then `*`. The backend is sent its "
        "own `model`, or the route's name; the answer names the model that was asked for. A route "
        "may also have a pattern as its name, like `*`: then the name is forwarded as it is.",
        "A server with only `/completions` needs the model's chat template, which turns messages "
        "into a prompt. It comes with the model: `chat_template.jinja`, `tokenizer_config.json`, "
        "`chat_template.json` or the `.gguf` file:",
        f"```toml\n{PROMPTS}```",
        "Such a server also gets a `stop` sequence that ends a turn, after those of the client: "
        "the text that the template writes after an answer or, if there is none, before the next "
        "turn; the tokenizer's `eos_token` only if the template has neither. `vllm`, `llamacpp` "
        "and `sglang` take any number of sequences. Any other server gets four at most, as OpenAI "
        "allows, so none is added if the client already sent four; most servers know the end of a "
        "turn anyway. Without `max_tokens` most servers stop after 16 tokens. So if the client "
        "sets no limit, `vllm` and `llamacpp` are told that there is none, and any other server "
        "gets 4,096. Parameters in `params_remove` are never sent.",
        "Without client keys, Toolwire listens only on loopback. To listen on another address, add "
        "`[[keys]]`, set `TOOLWIRE_API_KEY`, or set `public = true` (`--public`).",
        "Clients send their key as `Authorization: Bearer KEY`, as OpenAI's do, or as `x-api-key: "
        "KEY`, as Anthropic's do; both work on every path. If a request has both, the bearer "
        "decides if it is one of the configured keys, else `x-api-key` does.",
        "Without client keys, requests that may come from a web page are refused with 403. These "
        "are requests with a foreign name in `Host` (DNS rebinding), and requests with a foreign "
        "`Origin` or a cross-site `Sec-Fetch-Site`. Accepted names are every IP address, "
        "`localhost`, `*.localhost`, `host.docker.internal` and `host.containers.internal`; add "
        "others to `allowed_hosts`. On a public address only the origin is checked, unless "
        "`allowed_hosts` is set. A page of another program on this machine, such as "
        "`http://localhost:3000`, is foreign as well: add it to `allowed_origins`, which also "
        "allows it to read answers (CORS). Other programs send no `Origin` and are not affected. "
        "With client keys, a page would need a key, so `Host` and `Origin` are not checked; "
        "`allowed_origins` still says which pages may read answers. `/healthz` and `/readyz` are "
        "always open.",
        "## Top-level keys",
        settings_table(scalars),
        "`passthrough` lists the other endpoints that clients may use, each a path below `/v1/` "
        "for POST. The default is "
        + names(DEFAULT_ENDPOINTS)
        + ": all of them run a model and change "
        "nothing. Every other path is a 404 and every other method a 405, and nothing reaches a "
        "backend, because clients could manage files, batches, adapters or keys with the backend's "
        "key. To pass on another request, set the whole list, with the method if it is not POST "
        'and `*` for any one segment: `["embeddings", "GET files/*"]`. `[]` passes nothing on.',
        "The body is parsed whatever its Content-Type. The request goes to the backends of the "
        "model it names, under their own name for it; no other value is changed. An unknown model "
        "is a 404. Invalid JSON and duplicate properties are a 400, and so are `Model` and "
        "`model[]`, which some servers treat as `model`. A form (audio, images) names its model in "
        "the field `model`; it is encoded again, so that the backend reads what Toolwire read. A "
        "body without a model goes to `*`, or to the only model, whose name is filled in; with "
        "several models it is a 400. Parameters that choose a server, a key or a program "
        "(`api_base`, `api_key`, `extra_body`, `chat_template`, ...) are refused. Parameters that "
        "choose another model (`models`, `model_list`, `fallbacks`, `engine`, `lora_path`) are "
        "refused unless `*` serves the "
        "model. The query is passed on only with GET and DELETE; otherwise its names are listed in "
        "`toolwire-ignored-params`. Failures before the first byte of an answer are retried, on "
        "another backend if there is one, as for chat (`[retries]`).",
        *(part for title, record in SECTIONS for part in section(title, record)),
        *dialects(),
    ]
    return page(parts)


def section(title: str, record: type[Any]) -> Iterable[str]:
    """One table of the file."""
    return f"## `{title}`", str(record.__doc__), settings_table(settings_of(record))


def dialects() -> Iterable[str]:
    """What each kind of server takes."""
    intro = (
        "A backend's `dialect` is the kind of server. A parameter that the dialect does not list "
        "is not forwarded, and is named in the response header `toolwire-ignored-params`. "
        "`params_add` and `params_remove` change the list for one backend. Parameters that control "
        "the server itself (chat templates, grammars, adapters, token ids) are in no list: add "
        "them if you trust your clients. If a server does not honour a `tool_choice`, Toolwire "
        "enforces it on the answer."
    )
    constraint = (
        "`constraint` is how a server takes a JSON Schema for its answer, which Toolwire uses to "
        "constrain calls if tools are written into the prompt: `json_schema` (in "
        "`response_format`), `structured_outputs` (vLLM since 0.11), `guided_json` (vLLM before "
        "0.11; silently ignored since 0.12), `grammar` (llama.cpp converts the schema itself) or "
        "`none`. A backend's own `constraint` overrides its dialect's."
    )
    facts = table(
        (
            "dialect",
            "call ids",
            "token limit",
            "reasoning sent back",
            "tool_choice honoured",
            "constraint",
            "note",
        ),
        [dialect_row(dialect) for dialect in DIALECTS.values()],
    )
    common = frozenset.intersection(*(dialect.params for dialect in DIALECTS.values()))
    parameters = table(
        ("dialect", "also forwarded", "`reasoning_effort`", "most `stop`s"),
        [values_row(dialect, common) for dialect in DIALECTS.values()],
    )
    values = (
        "A `reasoning_effort` that a server does not know is sent as the nearest one that it does, "
        "and named in `toolwire-adjusted-params`. Toolwire watches by itself for stop sequences "
        "beyond those that a server takes."
    )
    return (
        "## Dialects",
        intro,
        facts,
        constraint,
        f"All dialects forward {names(common)}.",
        parameters,
        values,
    )


def values_row(dialect: Dialect, common: frozenset[str]) -> tuple[str, ...]:
    """One line of the table of parameters."""
    efforts = dialect.efforts if "reasoning_effort" in dialect.params else ()
    return (
        f"`{dialect.name}`",
        names(dialect.params - common),
        ", ".join(f"`{effort}`" for effort in efforts) or "not sent",
        _most_stops(dialect),
    )


def _most_stops(dialect: Dialect) -> str:
    if "stop" not in dialect.params:
        return "not sent"
    return str(dialect.stops) if dialect.stops < MANY else "any"


def dialect_row(dialect: Dialect) -> tuple[str, ...]:
    """One line of the table of dialects."""
    return (
        f"`{dialect.name}`",
        f"`{dialect.call_ids}`",
        "as sent" if dialect.max_tokens == "both" else f"`{dialect.max_tokens}`",
        "yes" if dialect.reasoning_in_history else "no",
        names(dialect.tool_choices) or "none",
        f"`{dialect.constraint}`",
        dialect.note,
    )


HEADERS = (
    ("toolwire-request-id", "the request's id, also in the log (and as `x-request-id`)"),
    ("toolwire-backend", "the backend that answered"),
    ("toolwire-mode", "the strategy for tools, and the format in which text is parsed"),
    ("toolwire-profile", "the client profile in use; send this header to choose one"),
    ("toolwire-ignored-params", "parameters that were not forwarded; `%3Fx`: `x` in the query"),
    (
        "toolwire-adjusted-params",
        "parameters that were changed, such as `parallel_tool_calls`; `tools`: see "
        "[small models](small-models.md)",
    ),
    ("toolwire-repairs", "what was repaired in the request, or in an answer that is not streamed"),
    ("toolwire-findings", "calls that were delivered although they do not fit, and why: its code"),
    (
        "toolwire-usage",
        "`estimated`, if the backend gave no usage and no `tokenizer` of the model could count",
    ),
    ("toolwire-call-map", "native API: the ids of calls, signed; send it back with the history"),
    ("toolwire-conversation", "native API: the id of the conversation"),
    ("toolwire-replayed", "native API: `true`, if the same request was answered before"),
)


def errors() -> str:
    """The page about every error."""
    parts = [
        "# Errors and headers",
        "Every error has OpenAI's form, always with all four keys: "
        '`{"error": {"message", "type", "param", "code"}}`. The message says what is wrong, where, '
        "and what to do. Once a stream has started, an error is its last event "
        '(`data: {"error": ...}`), without a `[DONE]`.',
        table(("status", "code", "type", "when"), error_rows()),
        "Errors of a request that is wrong (400) have OpenAI's codes: `invalid_type`, "
        "`invalid_value`, `missing_required_parameter`, `string_above_max_length`, "
        "`array_above_max_length`, `unsupported_parameter`, ... beside "
        "`invalid_form` (a form that cannot be read) and `too_many_values` (see "
        "`[limits] values`).",
        "A backend's own refusal (4xx) is passed on in its words, with its status, `type`, `param` "
        "and `code`. Three failures that clients act on have the same code whatever the server "
        "calls them, and whatever its status: a full context is 400 `context_length_exceeded`, "
        "what a content filter stops is 400 `content_filter`, and a rate limit is 429 "
        "`rate_limit_exceeded`, with the backend's `Retry-After`. A backend's 5xx is 502, and 503 "
        "if it says that it is busy (503, 529).",
        "A backend that refuses Toolwire's own key is not retried by clients: the status is the "
        "backend's 401 or 403, the code `upstream_key_refused`, and `x-should-retry: false` is "
        "sent. That header is also sent with every other error that lasts until somebody changes "
        "something, such as an empty account (`insufficient_quota`). If a model has several "
        "backends, the next one is asked instead after 401, 402, 403 and 404, too.",
        "An error that ends a stream names the backend, and says what to do.",
        "## What is refused before its body is read",
        "The head of a request is checked first: its key (401), its path and method (404, 405), "
        "and its announced length (413). A refusal is sent while the body is still arriving; the "
        "rest of the body is discarded and the connection closed. A client that sends "
        "`Expect: 100-continue` does not have to send the body.",
        "Invalid HTTP is refused in the same form, and the connection closed: 400 for "
        "anything that is not HTTP/1.1 or is ambiguous (no `Host`, two of them, or another than in "
        "the target), 408 `request_timeout`, 417 `expectation_failed`, 431 `headers_too_large` "
        "(including trailers), 501 `unsupported_coding` for a transfer coding other than "
        "`chunked`. Earlier requests on the same connection are answered first.",
        "A client may pipeline up to 16 requests, with up to 1 MiB in their bodies. What comes "
        "after that is not read: the last request that was read is answered with "
        "`connection: close`. While a client does not read its answers, its next requests wait; "
        "after `[timeouts] write` the connection is closed.",
        "If the bodies of all clients together exceed `[limits] bodies_bytes`, the one that has "
        "been arriving for longest is refused with 503 `overloaded` and `Retry-After`.",
        "## Response headers",
        table(("header", "meaning"), [(f"`{name}`", text) for name, text in HEADERS]),
        "Repairs in a stream that has started are listed in a `toolwire` object on its last chunk.",
    ]
    return page(parts)


def metrics() -> str:
    """The page about metrics and health checks."""
    parts = [
        "# Metrics and health",
        table(
            ("path", "answer"),
            (
                (
                    "`/metrics`",
                    "the metrics below, for Prometheus; requires a client key if there are any",
                ),
                ("`/healthz`", "200 while the process is up; answered at once, even under load"),
                (
                    "`/readyz`",
                    "503 during shutdown, so that no new requests are sent here, and with "
                    '`[health] ready = "backend"` also while no backend answers; `sessions` says '
                    "whether the [session store](sessions.md) answers, once it was used",
                ),
            ),
        ),
        "After SIGTERM or SIGINT, Toolwire keeps listening until the last answer is finished or "
        "`[timeouts] shutdown` has passed: `/healthz` answers 200, `/readyz` 503, and any other "
        "new request gets a 503 (`shutting_down`) with `Retry-After`. A second signal ends the "
        "process immediately. If no request is in progress, it ends at the first one.",
        "Overload is answered with a 503 (`overloaded`) and `Retry-After`: more concurrent "
        "requests than `[limits] requests`, a request that waits longer than `[timeouts] queue`, "
        "or more connections than `[limits] connections` if none of them is idle. Health probes "
        "are always answered.",
        "Labels never contain text from clients: routes and backends are those of the "
        "configuration, and "
        "unknown values are counted as `other`. The memory, CPU time and open files of the "
        "process are included (`process_...`).",
        table(("metric", "type", "labels", "meaning"), metric_rows()),
        "## The log",
        "Toolwire logs to stderr (`[log]`), one line per request:",
        f"```text\n{ACCESS_LINE}\n```",
        "`tokens` are those of the prompt and of the answer, `first` is the time to the first "
        "token, `retries` counts further attempts at backends, and `repairs` names what was "
        "changed in the answer. `/healthz`, `/readyz` and `/metrics` are logged at `debug` only.",
        "Every failed attempt at a backend is a `WARNING` that names the backend and the reason, "
        "also if a retry then succeeds. The same failure of the same backend is logged once a "
        "minute, with the number of repetitions; when the backend answers again, that is logged, "
        "too. If Toolwire learns that a server does not support tools, or which format a model "
        "writes, it says so once. What a backend says about a request that it refuses may quote "
        "the request, so only the code and the status are logged; the words are in the error that "
        "the client gets and in [traces](traces.md).",
    ]
    return page(parts)


def metric_rows() -> Iterable[tuple[str, ...]]:
    """Every metric, by the name that Prometheus gives it."""
    for family in Collected(Metrics()).collect():
        name = f"{family.name}_total" if family.type == "counter" else family.name
        labels = ", ".join(f"`{label}`" for label in family._labelnames)
        yield f"`{name}`", family.type, labels, family.documentation


OTHER_REPAIRS = (
    (
        "costly_pattern:TOOL:PATTERN",
        "a pattern in a schema is too expensive to compile and is not checked",
    ),
    (
        "unsupported_pattern:TOOL:PATTERN",
        "a pattern has a look-around or a backreference and is not checked",
    ),
    ("dangling_ref:TOOL:REF", "a `$ref` of a schema leads nowhere: anything is allowed there"),
    ("tool_dropped:TOOL", "a tool that the model is not offered (`tools_allowed`, `tools_denied`)"),
    (
        "tool_descriptions_cut:NUMBER",
        "number of tools with shortened descriptions (`tool_description_chars`, "
        "`parameter_description_chars`)",
    ),
    ("tool_left_out:TYPE", "a tool of the Messages API that Anthropic would run"),
    ("tool_repeated:TOOL", "a tool of the Responses API that is given twice: the last one counts"),
    (
        "not_strict:TOOL",
        "a strict tool of the Messages API whose schema strict mode does not allow",
    ),
    ("strict_ignored:TOOL", "`strict` on the native API, where every call has to fit its schema"),
    (
        "orphan_result:CALL_ID",
        "a result in the history that belongs to no call: left out, or text (Messages API)",
    ),
    ("result_repeated:CALL_ID", "a second result of a call in the history: it replaces the first"),
    ("result_moved:CALL_ID", "a result in the history that does not follow its call: moved there"),
    ("call_id_missing:PLACE", "a result without an id, given to the call that has no result"),
    ("changed_thinking:PLACE", "thinking in the history that was changed: left out"),
    ("missing_result:CALL_ID", "a call in the history without a result: one that says so is added"),
    (
        "repeated_call_id:CALL_ID",
        'a call with the id of an earlier one: renamed (`history = "repair"`)',
    ),
    ("arguments_repaired:CALL_ID", "arguments in the history that were not JSON, made JSON"),
    (
        "arguments_quoted:CALL_ID",
        'arguments in the history that are not JSON: the backend gets `{"invalid_json": TEXT}`',
    ),
    (
        "tool_name_resolved",
        "a tool name that differs by case, separators, a namespace, a number or what is around it",
    ),
    ("arguments_repeated", "text around the arguments of a call, or the same again, is left out"),
    ("call_index_shared", "several calls that the backend sent as one are told apart"),
    ("broken_line_skipped", "a line of the backend's stream, outside of a call, cannot be read"),
    ("finish_reason_missing", "the backend did not say why its answer ended"),
    ("call_repeated", "a call that is native and also in the text is made once"),
    ("call_promoted_from_text", "a call that the backend handed on as text"),
    (
        "format_detected:NAME",
        "a call, or the beginning of an answer, in another format than the one that was expected",
    ),
    (
        "call_dropped:REASON",
        "a call that `tool_choice`, `parallel_tool_calls` or a cut forbids, or that is empty",
    ),
    (
        "choice_dropped:tool_choice",
        "with `n`, a choice without the required call, beside one that has it: left out if the "
        "model is not asked again",
    ),
    ("asked_again:CODE", "the model was told what was wrong, and asked again"),
    ("call_resumed", "the backend failed inside a call, which another attempt has made"),
    ("loop_explained:TOOL", "the model was told that it keeps repeating the same invalid call"),
)

OUTCOMES = (
    ("repaired", "the client got a call that fits"),
    ("re-asked", "not repaired, but right after the model was told what was wrong, if it learns "
        "from that; the columns that follow are of a model that does not"),
    ("rejected", "no call reached the client: an error, or text"),
    ("labelled", "the call reached the client as the model made it, with its code in "
        "`toolwire-findings`"),
    ("missed", "the call reached the client without a word"),
)  # fmt: skip
BAD_CALLS = (
    ("`whole`", "583", "79", "504", "213", "291", "0"),
    ("`live`", "583", "23", "0", "0", "560", "0"),
    ("`whole`, a strict tool", "539", "36", "503", "503", "0", "0"),
)
"""What becomes of invalid calls: a test compares it with the corpus."""
FINDINGS = (
    ("unknown_tool_call", "the request has no such tool"),
    ("malformed_tool_arguments", "the arguments are not a JSON object"),
    ("invalid_tool_arguments", "the arguments do not match the tool's schema"),
    (
        "unchecked_tool_arguments",
        "the arguments could not be checked in time (see below); the model is not asked again",
    ),
)


def repairs() -> str:
    """The page about invalid calls."""
    rules = [(f"`{rule.name}`", rule.does) for rule in (*TEXT_RULES, *VALUE_RULES)]
    parts = [
        "# Invalid calls and repairs",
        "Every call is checked against the schema of its tool. What happens to an invalid call "
        "depends on how calls are delivered.",
        table(
            ("", "`live`", "`whole`"),
            (
                (
                    "used for",
                    'streams to clients that show arguments as they arrive, `streams = "live"`',
                    "other streams, `stream: false`, strict tools",
                ),
                ("a call is sent", "as the model writes it", "at the end of the turn"),
                ("repaired", "only if it does not start as an object", "yes"),
                ("asked for again", "no", "`[repair] ask_again` times, once by default"),
                ("if it is still invalid", "delivered as it is", "delivered as it is"),
                ("if it is not a JSON object", "delivered as it is", "delivered as text"),
                ("of a strict tool", "(never live)", "error 502; cut off by `length`: left out"),
            ),
        ),
        "An invalid call is not an HTTP error, because agents recover from an invalid call and "
        "stop at an error. It is one if the tool is strict, or if a call that is delivered whole "
        "is not a JSON object although `tool_choice` requires a call. Arguments with a duplicate "
        "key are malformed, so the model is asked again. Clients can decode them, so if the "
        "model repeats them they are delivered as they are. Invalid calls that were delivered are "
        "named in `toolwire-findings` (or `toolwire.findings` on the last chunk of a stream), "
        "counted in `toolwire_unfit_calls_total` and recorded in the [trace](traces.md):",
        table(("code", "what is wrong"), [(f"`{code}`", text) for code, text in FINDINGS]),
        "When the model is asked again, the client never sees the failed attempt, and usage is the "
        "sum. If asking again fails, the first answer is delivered.",
        "Text is always streamed as it arrives, also where calls are delivered whole. If the "
        "backend fails inside such a call, the turn is retried, and its calls follow the text that "
        "the client already has (`call_resumed`). Text of the second attempt is sent only if it "
        "makes no call.",
        "This holds for native calls and for calls in the model's text. One in the text that names "
        "a tool and then cannot be read, such as JSON with quotes that are not escaped, is asked "
        "for again; if the model repeats it, it is delivered as the text that it is.",
        "A call that is cut off (`max_tokens`) is never complete: its `finish_reason` is `length`. "
        "If its arguments had begun, they are delivered as far as they came; otherwise the call is "
        "left out (`call_dropped:cut_off`), together with the brackets and commas around it if the "
        "server was constrained to a schema of calls. A call that the model wrote as text stays "
        "text, unless it is delivered live. A call whose JSON is not closed always ends in "
        "`length`, even if the backend said `stop` or `tool_calls`.",
        "## What becomes of invalid calls",
        "The test suite has 583 invalid calls: arguments that are not JSON, values of the wrong "
        "type, missing and extra fields, and unknown tools. None reaches the client without a "
        "word. But repairs alone make few of them right, because a rule fires only when the fix is "
        "unambiguous; most need the model's help:",
        table(("delivery", "calls", *(name for name, _ in OUTCOMES)), BAD_CALLS),
        "\n".join(f"- {name}: {text}" for name, text in OUTCOMES),
        "So with `whole`, 13.6 % of invalid calls end in a valid one by repair alone, and all of "
        "them if the model corrects itself when told. A model that does not correct itself leaves "
        "213 without a call (text, or an error) and 291 invalid calls, which agents answer with an "
        "error. "
        "`python -m tests.contract.malformed` measures this, and a test compares it with this "
        "table. The model is a script: how often a real one corrects itself is not measured here.",
        "## Repairs",
        "A rule fires only when the fix is unambiguous, and its change is kept only if the call is "
        "valid afterwards, or is JSON where it was not. Every repair is reported in "
        "`toolwire-repairs` (or on the last chunk), in `toolwire_repairs_total` and in the trace. "
        "Each rule can be disabled:",
        '```toml\n[repair]\noff = ["wrap_in_array"]\n```',
        table(("rule", "what it does"), rules),
        "Toolwire never completes truncated text, drops fields, invents values or guesses a "
        "similar name. A string stays a string if the schema allows one.",
        "## Expensive schemas",
        "When a schema is read, Toolwire estimates how expensive it can be to check a call. Nearly "
        "all calls are certain to be cheap and are checked immediately. Any other call is checked "
        "in a separate process, so that it does not block other clients, with limits of 2 s of CPU "
        "time and 512 MB, and 10 s for all calls of an answer. A call that could not be checked in "
        "time is delivered as it is and reported as `unchecked_tool_arguments`. For a strict tool, "
        "it is an error (502) with that code.",
        "If `$ref`, `anyOf`, `oneOf`, `allOf`, `if`, `not`, `dependentSchemas` or "
        "`unevaluatedProperties` multiply so that a single value can take more than 1,048,576 "
        "checks, the request is refused with `invalid_function_parameters`.",
        "Patterns are matched in linear time. Patterns with a look-around or a backreference, "
        "and patterns that take too long to compile, are refused in a strict tool. In any other "
        "tool they are not checked, and are listed in `toolwire-repairs`.",
        "## Other repairs",
        table(("name", "meaning"), [(f"`{name}`", text) for name, text in OTHER_REPAIRS]),
    ]
    return page(parts)


def error_rows() -> list[tuple[str, ...]]:
    """Every error class, by status."""
    kinds = [kind for kind in vars(gateway_errors).values() if isinstance(kind, type)]
    rows = [
        (str(kind.status), f"`{kind.code}`" if kind.code else "", f"`{kind.type}`", summary(kind))
        for kind in kinds
        if issubclass(kind, gateway_errors.GatewayError)
        and kind.code
        and kind is not gateway_errors.UpstreamRefused
    ]
    return sorted(rows)


def summary(kind: type[Any]) -> str:
    """The first line of a docstring."""
    return str(kind.__doc__).splitlines()[0]


def settings_table(settings: Iterable[Setting]) -> str:
    """Settings with what they may be."""
    heads = ("key", "what it is", "value", "default", "flag, variable")
    return table(heads, [setting_row(setting) for setting in settings])


def setting_row(setting: Setting) -> tuple[str, ...]:
    """One line of a table of settings."""
    flag, env = setting.option.flag, setting.option.env
    outside = [f"`--{flag.replace('_', '-')}`"] if flag else []
    outside += [f"`{env}`"] if env else []
    keys = ", ".join(f"`{key}`" for key in setting.keys)
    return keys, setting.option.help, kind(setting), default(setting), ", ".join(outside)


_KINDS: dict[Any, str] = {
    str: "string",
    bool: "`true`, `false`",
    Path: "path",
    ChatTemplate: "path",
    tuple: "list",
}


def kind(setting: Setting) -> str:
    """What a setting may be."""
    if setting.option.low is not None:
        number = "number" if setting.kind is float else "whole number"
        return f"{number}, {figure(setting.option.low)} to {figure(setting.option.high)}"
    if setting.keys != (setting.name,):
        return "string" if setting.keys == ("key_env",) else "tables"
    bare = next((k for k in get_args(setting.kind) if type(None) in get_args(setting.kind)), None)
    bare = bare or setting.kind
    if get_origin(bare) is Literal:
        return ", ".join(f"`{choice}`" for choice in get_args(bare))
    return _KINDS.get(get_origin(bare) or bare, "table")


def default(setting: Setting) -> str:
    """What a setting is if it is not given."""
    if setting.required:
        return "required"
    if setting.option.low is not None and setting.default is not None:
        return f"`{figure(setting.default)}`"
    if setting.kind is bool or (setting.default and isinstance(setting.default, str)):
        return f"`{json.dumps(setting.default)}`"
    return ""


def figure(number: float | None) -> str:
    """A number as TOML takes it, with underscores where it is long."""
    text = f"{number:_}".removesuffix(".0")
    return text.replace("_", "") if len(text) < 6 else text


FAMILIES = {
    "json": ("JSON", "The name and the arguments are in one JSON value."),
    "header": ("Header and JSON", "The name is in a header, followed by the arguments as JSON."),
    "pythonic": ("Python", "Calls are Python expressions."),
    "tagged": ("Tagged", "One element per parameter, with its type in the schema or an attribute."),
    "messages": ("Messages", "A turn is several typed messages, some of them addressed to tools."),
    "lax object": ("Lax objects", "An object with unquoted keys and its own string delimiter."),
}


def formats() -> str:
    """The page about every format."""
    records = [get(name) for name in sorted(format_names())]
    parts = [
        "# Formats",
        f"Toolwire parses and writes {len(records)} formats. It knows them by the names that vLLM, "
        "SGLang, LMDeploy, llama.cpp, dynamo and smg use. `toolwire formats --model NAME` shows "
        "the format of a model, and `toolwire parse --format auto < text` detects that of a text. "
        "The test cases are in `src/toolwire/conformance/cases/`. To add one, see "
        "[add a format](add-a-format.md).",
    ]
    for family in sorted({record.family for record in records}, key=list(FAMILIES).index):
        title, what = FAMILIES[family]
        parts += [f"## {title}", what]
        parts += [part for r in records if r.family == family for part in format_entry(r)]
    return page(parts)


def format_entry(record: Format) -> Iterable[str]:
    """One format: its names, its models, and two calls in it."""
    facts = [f"Also called {names(record.aliases)}." if record.aliases else ""]
    facts += [f"Models whose names contain {model_names(record)}." if record.models else ""]
    facts += [f"{record.note[:1].upper()}{record.note[1:]}." if record.note else ""]
    if record.special_tokens:
        tokens = " ".join(f"`` {token} ``" for token in record.special_tokens)
        facts += [f"A server must not strip {tokens}."]
    case = next(c for c in cases_of(record.name) if c.scenario_name == "parallel_calls")
    yield f"### `{record.name}`"
    yield " ".join(fact for fact in facts if fact)
    yield f"`````text\n{case.model_output}\n`````"


def models() -> str:
    """The page that says which settings a model needs."""
    records = [get(name) for name in sorted(format_names())]
    return page(
        [
            "# Your model, your settings",
            "Most models need no settings: the format follows from the model's name, its chat "
            "template, or what it writes. If the name says nothing, as with many fine-tunes, set "
            "the format: `--upstream-format NAME`, or `format` of its route.",
            "If several names of the table are a part of your model's name, the longest decides; "
            "hyphens do not matter, and `…` is any text. `toolwire formats --model NAME` says the "
            "same on the command line. The second column is also the name of vLLM's "
            "`--tool-call-parser`, where vLLM has one. The server must not strip the special "
            "tokens: Toolwire asks vLLM, SGLang and LMDeploy not to "
            "(`skip_special_tokens: false`).",
            table(
                ("names that contain", "format", "also called", "settings", "special tokens"),
                sorted(model_row(record) for record in records if record.models),
            ),
        ]
    )


def model_names(record: Format) -> str:
    """What the names of a format's models contain."""
    return names(name for pattern in record.models for name in readable(pattern))


_CALL_IDS = {"mistral9": '`call_ids = "mistral"`', "kimi": '`call_ids = "kimi"`'}


def model_row(record: Format) -> tuple[str, ...]:
    """A format's models: what their names contain, and what to set."""
    tokens = " ".join(f"`` {token} ``" for token in record.special_tokens)
    ids = _CALL_IDS.get(record.ids, "")
    return model_names(record), f"`{record.name}`", names(record.aliases), ids, tokens


def names(values: Iterable[str]) -> str:
    """Names, in order, as code."""
    return ", ".join(f"`{value}`" for value in sorted(values))


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table."""
    lines = [" | ".join(heads), " | ".join("---" for _ in heads)]
    lines += [" | ".join(_cell(cell) for cell in row) for row in rows]
    return "\n".join(f"| {line} |" for line in lines)


def _cell(text: str) -> str:
    """A cell. GitHub needs a bar to be escaped also within code, where mkdocs shows the backslash:
    as HTML, both show the bar."""
    code = re.compile(r"(?<!`)(`+)(?!`)(.*?)(?<!`)\1(?!`)")
    shown = code.sub(lambda m: _code(m[2].strip()) if "|" in m[2] else m[0], text)
    return shown.replace("|", "\\|")


def _code(text: str) -> str:
    return f"<code>{html.escape(text).replace('|', '&#124;')}</code>"


def page(parts: Iterable[str]) -> str:
    """A page, with a note that it is generated."""
    notice = (
        "<!-- Generated by docs/generate.py: change the code or that file, then `make docs`. -->"
    )
    return "\n\n".join([notice, *(part.rstrip("\n") for part in parts)]) + "\n"


def hardening() -> str:
    """The page about what was tried against the gateway."""
    known = json.loads((DOCS / "hardening.json").read_text(encoding="utf-8"))
    parts = [
        "# Hardening",
        "What was tried to stop, fill, starve or use the gateway, the bar, and what was "
        "measured. Every row runs in a small size with the tests of each change, except for what "
        "measures time (`timed`), and in full size "
        'with `make hard`; `make hard ARGS="R7"` runs one row. A test says itself which rows it '
        "tries, in the first lines of its file. Figures are written by `make hard`, never by hand. "
        "Times are CPU time of the gateway, so that they hold on a busy machine, too.",
        table(
            ("", "what is tried", "the bar", "measured in full size", "command, tests"),
            [hardening_row(row, known.get(row.id)) for row in ROWS],
        ),
        "## Fuzzing",
        "Every parser of untrusted bytes has a fuzz target. An input must raise only the errors "
        "that the parser declares, take at most a second of CPU time and 128 MB, and give the same "
        "result however it is split. `python -m tests.fuzz` prints its seed and saves what it "
        "finds in `.cache/fuzz`. Copy an input to `tests/fuzz/corpus/TARGET` to make it a test.",
        table(
            ("target", "what it reads", "stored inputs"),
            [(f"`{t.name}`", t.what, str(len(t.stored))) for t in TARGETS.values()],
        ),
    ]
    return page(parts)


def hardening_row(row: Row, known: Any) -> tuple[str, ...]:
    """One row: without figures if nobody has measured it."""
    if row.later:
        return row.id, row.what, row.bar, row.later, ""
    tests = [f"`{path.removeprefix('tests/')}`" for path in row.tests]
    tests += [f"`python {' '.join(row.command)}`"] if row.command else []
    ran = f"`make hard ARGS={row.id}`" if tests else ""
    return row.id, row.what, row.bar, measured(known), "<br>".join([ran, *tests])


def measured(known: Any) -> str:
    """What was measured, and when."""
    if known is None:
        return "not yet"
    held = "" if known["held"] else "**does not hold**: "
    figures = [*known["figures"][:MOST_FIGURES], f"{known['seconds']} s"]
    return f"{held}{'; '.join(figures)} ({known['date']})"


API_EXAMPLE = """\
from toolwire import extract, parser_for

text = 'Let me check.<tool_call>{"name": "get_time", "arguments": {"tz": "CET"}}</tool_call>'

found = extract("hermes", text)
found.content  # 'Let me check.'
found.calls[0].name  # 'get_time'
found.calls[0].decoded()  # {'tz': 'CET'}

extract("auto", text).format  # 'hermes': the format can be detected
"""

TOOLS_EXAMPLE = """\
from toolwire import extract

tool = {
    "type": "function",
    "function": {
        "name": "wait",
        "parameters": {"type": "object", "properties": {"seconds": {"type": "integer"}}},
    },
}
text = "<function=wait>\\n<parameter=seconds>\\n5\\n</parameter>\\n</function>"

extract("qwen3_coder", text).calls[0].arguments  # '{"seconds": "5"}'
extract("qwen3_coder", text, [tool]).calls[0].arguments  # '{"seconds": 5}'
"""

STREAM_OUTPUT = """\
text 'Let me ch'
text 'eck.'
call 0 get_time
arguments of 0 '{"tz": "C'
arguments of 0 'ET"}'
end of 0
"""

STREAM_EXAMPLE = """\
from toolwire import ArgsDelta, CallEnd, CallStart, TextDelta, parser_for

pieces = ["Let me ch", "eck.<tool_", 'call>{"name": "get_time", "argu']
pieces += ['ments": {"tz": "C', 'ET"}}', "</tool_call>"]


def show(events):
    for event in events:
        match event:
            case TextDelta(text=text):
                print("text", repr(text))
            case CallStart(index=index, name=name):
                print("call", index, name)
            case ArgsDelta(index=index, json=json):
                print("arguments of", index, repr(json))
            case CallEnd(index=index):
                print("end of", index)


parser = parser_for("hermes")  # a new one for each answer
for piece in pieces:  # as they arrive
    show(parser.feed(piece))
show(parser.finish())
"""


def api() -> str:
    """The page about the Python API."""
    parts = [
        "# Python API",
        "The parsers work without the gateway. They do no I/O, need no event loop, and never raise "
        "on what a model wrote.",
        f"```python\n{API_EXAMPLE}```",
        "Some formats write every value as text. With the tools of the request, values get the "
        "types of their schemas. A tool may be a dictionary, as in a request to OpenAI, a "
        "`ToolSpec`, or a function with `@tool`:",
        f"```python\n{TOOLS_EXAMPLE}```",
        "While an answer streams, feed its pieces to a parser. Text comes at once, and arguments "
        "as the model writes them; whichever way the text is cut, the events add up to the same:",
        f"```python\n{STREAM_EXAMPLE}```",
        "It prints",
        f"```text\n{STREAM_OUTPUT}```",
        "Import the names below from `toolwire`, unless an entry names another module. The package "
        "is typed (`py.typed`). The names of all formats are in [formats](formats.md).",
        *reference(),
    ]
    return page(parts)


PAGES: dict[str, Callable[[], str]] = {
    "api.md": api,
    "clients.md": lambda: page(clients_page.parts(table)),
    "configuration.md": configuration,
    "errors.md": errors,
    "formats.md": formats,
    "hardening.md": hardening,
    "messages.md": lambda: page(messages_page.parts(table)),
    "responses.md": lambda: page(responses_page.parts(table)),
    "metrics.md": metrics,
    "models.md": models,
    "native-reference.md": lambda: page(native_page.parts(table)),
    "repairs.md": repairs,
}

if __name__ == "__main__":
    for name, write in PAGES.items():
        (DOCS / name).write_text(write(), encoding="utf-8")
