"""The table of targets."""

from tests.fuzz import (
    answer_targets,
    file_targets,
    format_target,
    http_target,
    request_targets,
    words,
)
from tests.fuzz.engine import Target

_ALL = (
    Target("http", http_target.run, "HTTP from a client, head and body", words.HTTP),
    Target("sse", answer_targets.run_sse, "a backend's event stream", words.SSE),
    Target(
        "answer",
        answer_targets.run_answer,
        "a backend's answer, up to what a client sees of it",
        words.ANSWER,
        answer_targets.answer_seeds,
    ),
    Target("request", request_targets.run_request, "the body of a chat request", words.REQUEST),
    Target(
        "messages", request_targets.run_message, "the body of a Messages request", words.MESSAGES
    ),
    Target("schema", request_targets.run_schema, "the schema of a tool", words.SCHEMA),
    Target("template", file_targets.run_template, "a file with a chat template", words.TEMPLATE),
    # Each input starts a process.
    Target("render", file_targets.run_render, "a chat template, rendered", words.TEMPLATE),
    Target("trace", file_targets.run_trace, "a trace, replayed", words.TRACE),
    Target(
        "formats", format_target.run, "a model's text, in each format", words.FORMATS,
        format_target.seeds,
    ),
)  # fmt: skip

TARGETS = {target.name: target for target in _ALL}
