"""The description of the native API: see `surfaces.operations`."""

from toolwire.errors import (
    ClaimLost,
    ConversationBusy,
    ConversationNotFound,
    HistoryError,
    InvalidToolArguments,
    StoreUnavailable,
    ToolChoiceUnmet,
)
from toolwire.surfaces.native.errors import MODEL_MISTAKE
from toolwire.surfaces.native.wire import (
    ChatRequest,
    ChatResponse,
    ConversationList,
    DeletedConversation,
    DoneEvent,
    ErrorEvent,
    ErrorResponse,
    ReasoningDeltaEvent,
    StoredConversation,
    TextDeltaEvent,
    ToolCallEvent,
    UsageEvent,
)
from toolwire.surfaces.operations import (
    ANYWHERE,
    EXAMPLE_TOOL,
    OF_A_TURN,
    Api,
    Operation,
    Parameter,
)

_OF_STORE = (*ANYWHERE, StoreUnavailable)
_OF_ONE = (*_OF_STORE, ConversationNotFound)
_ID = Parameter("id", "path", "The conversation's id")

_OPERATIONS = (
    Operation(
        "POST",
        "/native/v1/chat",
        "Ask for a turn",
        "Calls come back parsed, checked and complete; what the model got wrong is an error (422) "
        "with what it said. With a `conversation_id` the server keeps the history, and only what "
        "is new is sent.",
        (
            Parameter("idempotency-key", "header", "Send the same again to get the same answer"),
            Parameter("toolwire-call-map", "header", "The value that the last answer came with"),
        ),
        body=ChatRequest,
        example={
            "model": "local",
            "conversation_id": "new",
            "messages": [{"role": "user", "content": "What is the weather in Paris?"}],
            "tools": [EXAMPLE_TOOL],
        },
        answer=ChatResponse,
        events={
            "text.delta": TextDeltaEvent,
            "reasoning.delta": ReasoningDeltaEvent,
            "tool_call": ToolCallEvent,
            "usage": UsageEvent,
            "done": DoneEvent,
            "error": ErrorEvent,
        },
        errors=(*OF_A_TURN, *_OF_ONE, HistoryError, ConversationBusy, ClaimLost,
                ToolChoiceUnmet, InvalidToolArguments),
        statuses={ToolChoiceUnmet: MODEL_MISTAKE, InvalidToolArguments: MODEL_MISTAKE},
        error=ErrorResponse,
    ),
    Operation(
        "GET",
        "/native/v1/conversations",
        "List your conversations",
        parameters=(
            Parameter("after", "query", "The id behind which to go on"),
            Parameter("limit", "query", "How many at most, 1 to 100", int),
        ),
        answer=ConversationList,
        errors=_OF_STORE,
        error=ErrorResponse,
    ),
    Operation(
        "GET",
        "/native/v1/conversations/{id}",
        "Show a conversation",
        parameters=(_ID,),
        answer=StoredConversation,
        errors=_OF_ONE,
        error=ErrorResponse,
    ),
    Operation(
        "DELETE",
        "/native/v1/conversations/{id}",
        "Delete a conversation",
        parameters=(_ID,),
        answer=DeletedConversation,
        errors=(*_OF_ONE, ConversationBusy),
        error=ErrorResponse,
    ),
)  # fmt: skip

API = Api("Native API", "Native", _OPERATIONS)
