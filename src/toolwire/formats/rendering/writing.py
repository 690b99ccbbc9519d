"""Templates for calls and results in a prompt: one record per format.

In `call`: {name}, {id}, {args} (the JSON object), {json} (the call as a JSON object), {python},
{lax} and {params}, which is `param` for each argument with {key}, {value}, {string} and {type}.
In `result`: {result} (the text), {json} (the text as a JSON string), {value} (the text if it is
JSON, else as a JSON string), {name}, {id}, {index}.
"""

import msgspec


class Writing(msgspec.Struct, frozen=True):
    """The calls of one assistant turn: `before`, each `call` with `between`, `after`."""

    call: str
    before: str = ""
    between: str = ""
    after: str = ""
    param: str = ""
    keys: tuple[str, str] = ("name", "arguments")
    delimiter: str = ""
    escape_attributes: bool = False
    """The model's own template escapes quotes in attributes; no other is known to."""


class Results(msgspec.Struct, frozen=True):
    """The results that answer a turn. `merged`: all in one message, in the order of the calls.

    `error` is the template for a failed tool. Without it, the text of the result says so.
    """

    result: str = "<tool_response>\n{result}\n</tool_response>"
    role: str = "user"
    merged: bool = True
    before: str = ""
    between: str = "\n"
    after: str = ""
    error: str = ""


PLAIN_RESULTS = Results()
