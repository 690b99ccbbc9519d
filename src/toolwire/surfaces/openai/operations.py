"""The description of OpenAI's chat completions: see `surfaces.operations`."""

from toolwire.errors import HistoryError, InvalidToolArguments, ModelNotFound, ToolChoiceUnmet
from toolwire.surfaces.openai.wire import (
    ChatCompletion,
    ChatCompletionChunk,
    ChatRequest,
    ModelListWire,
    ModelWire,
)
from toolwire.surfaces.openai_error import ErrorBody
from toolwire.surfaces.operations import (
    ANYWHERE,
    EXAMPLE_TOOL,
    OF_A_TURN,
    Api,
    Operation,
    Parameter,
)

_OPERATIONS = (
    Operation(
        "POST",
        "/v1/chat/completions",
        "Make a chat completion",
        "OpenAI's API, streamed with `stream: true`. A model's bad call is repaired where that is "
        "safe, asked for again where that is enabled, and otherwise delivered as text.",
        body=ChatRequest,
        example={
            "model": "local",
            "messages": [{"role": "user", "content": "What is the weather in Paris?"}],
            "tools": [EXAMPLE_TOOL],
        },
        answer=ChatCompletion,
        events={"": ChatCompletionChunk},
        errors=(*OF_A_TURN, HistoryError, ToolChoiceUnmet, InvalidToolArguments),
        error=ErrorBody,
    ),
    Operation(
        "GET",
        "/v1/models",
        "List the models",
        "All of them, unless one of the parameters is given.",
        parameters=(
            Parameter("limit", "query", "How many at most", int),
            Parameter("after_id", "query", "Continue after this model"),
            Parameter("before_id", "query", "The model before which to end"),
        ),
        answer=ModelListWire,
        error=ErrorBody,
    ),
    Operation(
        "GET",
        "/v1/models/{id}",
        "Show a model",
        parameters=(Parameter("id", "path", "The model's name"),),
        answer=ModelWire,
        errors=(*ANYWHERE, ModelNotFound),
        error=ErrorBody,
    ),
)

API = Api("OpenAI chat completions", "Chat", _OPERATIONS)
