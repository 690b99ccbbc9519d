"""anthropic-python before 1.0: the key in `x-api-key`, the first version of the API, no threads,
and structured output as `output_format`."""

import sys
from typing import Any

import anthropic_python_checks as today
import workbench
from workbench import Target

checks = workbench.Checks()
for task in (today.create, today.stream_helper, today.raw_stream, today.tool_runner):
    checks.task(task)
for plain in (today.count_tokens, today.models, today.an_error_is_its_own):
    checks.plain(plain)


@checks.plain
def parse(target: Target) -> None:
    """Structured output, while it was a beta."""
    messages: Any = [{"role": "user", "content": "A title, please."}]
    answer = today.client_of(target).beta.messages.parse(
        model=target.model, max_tokens=100, messages=messages, output_format=today.Title
    )
    assert isinstance(answer.parsed_output, today.Title)


if __name__ == "__main__":
    checks.run(sys.argv[1:])
