"""The wire of the native API: every object that a client sends or gets.

These types are the only description of the wire. Requests are decoded by them, all faults of a
request are found by them (`faults.py`), and the API's reference is generated from them.
"""

from toolwire.surfaces.native.wire.answer import (
    AnswerChoice,
    AnsweredCall,
    AnsweredFunction,
    AnswerMessage,
    AnswerWarning,
    ChatResponse,
)
from toolwire.surfaces.native.wire.conversations import (
    ConversationEntry,
    ConversationList,
    DeletedConversation,
    StoredConversation,
)
from toolwire.surfaces.native.wire.errors import Error, ErrorResponse, ModelSaid, Problem, SaidCall
from toolwire.surfaces.native.wire.events import (
    DoneEvent,
    ErrorEvent,
    Event,
    ReasoningDeltaEvent,
    TextDeltaEvent,
    ToolCallEvent,
    UsageEvent,
)
from toolwire.surfaces.native.wire.messages import (
    AssistantMessage,
    DeveloperMessage,
    MessageWire,
    SystemMessage,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from toolwire.surfaces.native.wire.request import ChatRequest
from toolwire.surfaces.native.wire.tools import MessageToolCall
from toolwire.surfaces.native.wire.values import CONVERSATION_ID, NEW

__all__ = [
    "CONVERSATION_ID",
    "NEW",
    "AnswerChoice",
    "AnswerMessage",
    "AnswerWarning",
    "AnsweredCall",
    "AnsweredFunction",
    "AssistantMessage",
    "ChatRequest",
    "ChatResponse",
    "ConversationEntry",
    "ConversationList",
    "DeletedConversation",
    "DeveloperMessage",
    "DoneEvent",
    "Error",
    "ErrorEvent",
    "ErrorResponse",
    "Event",
    "MessageToolCall",
    "MessageWire",
    "ModelSaid",
    "Problem",
    "ReasoningDeltaEvent",
    "SaidCall",
    "StoredConversation",
    "SystemMessage",
    "TextDeltaEvent",
    "ToolCallEvent",
    "ToolMessage",
    "ToolResult",
    "UsageEvent",
    "UserMessage",
]
