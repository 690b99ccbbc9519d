"""A server that runs a model."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Literal

import msgspec

from toolwire.backends.templates.chat_template import ChatTemplate
from toolwire.server.config import values
from toolwire.server.config.secret import Secret
from toolwire.server.config.settings.option import Discreet, Option
from toolwire.server.config.settings.timeouts import Timeouts


class BackendConfig(Discreet, frozen=True, kw_only=True):
    """A server that runs a model."""

    _hidden = frozenset({"chat_template", "headers"})

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
    ] = None
    custom_tools: Annotated[bool, Option("whether the server supports tools of type `custom`")] = (
        False
    )
    headers: Annotated[
        Mapping[str, str],
        Option("headers to send with every request", parse=values.headers, show=values.hidden),
    ] = msgspec.field(default_factory=lambda: MappingProxyType({}))
    timeouts: Annotated[
        Timeouts | None,
        Option("time limits of this backend; the default of each is in `[timeouts]`"),
    ] = None

    @property
    def is_embedded(self) -> bool:
        """Whether it is the model inside this process."""
        return values.is_embedded(self.url)
