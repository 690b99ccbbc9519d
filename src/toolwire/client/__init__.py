"""The Python client: lets a model call your functions.

from toolwire import Client, tool

@tool
def get_weather(city: str) -> str:
    "Get the current weather in a city."
    return "21 degrees and sunny"

print(Client().run("What is the weather in Paris?", tools=[get_weather]))
"""

from toolwire.client.answer import Chunk, Completion, Message, ToolCall, Usage
from toolwire.client.async_client import AsyncClient
from toolwire.client.client import Client
from toolwire.client.conversation import AsyncConversation, Conversation
from toolwire.client.errors import (
    APIError,
    AuthenticationFailed,
    BadAnswer,
    BadRequest,
    ClientError,
    ConfigurationError,
    Conflict,
    ConnectionFailed,
    DuplicateTool,
    InvalidArguments,
    LimitReached,
    MissingPackage,
    NotFound,
    PermissionDenied,
    RateLimited,
    RequestTimeout,
    ServerError,
    StreamBroken,
    ToolDefinitionError,
    ToolError,
    UnknownTool,
)
from toolwire.client.events import (
    Call,
    CallFinished,
    CallStarted,
    Deny,
    Event,
    FinishedCall,
    RunFinished,
    RunResult,
    TurnFinished,
    TurnStarted,
)
from toolwire.client.running.limits import Limits
from toolwire.client.running.results import CallResult, Image
from toolwire.client.running.runner import AsyncRun, Run
from toolwire.client.running.workers import CallStopped
from toolwire.client.streaming.stream import AsyncStream, Stream
from toolwire.client.tools.tool import Tool, tool
from toolwire.client.tools.toolbox import Toolbox
from toolwire.protocol.events import ReasoningDelta, TextDelta

__all__ = [
    "APIError",
    "AsyncClient",
    "AsyncConversation",
    "AsyncRun",
    "AsyncStream",
    "AuthenticationFailed",
    "BadAnswer",
    "BadRequest",
    "Call",
    "CallFinished",
    "CallResult",
    "CallStarted",
    "CallStopped",
    "Chunk",
    "Client",
    "ClientError",
    "Completion",
    "ConfigurationError",
    "Conflict",
    "ConnectionFailed",
    "Conversation",
    "Deny",
    "DuplicateTool",
    "Event",
    "FinishedCall",
    "Image",
    "InvalidArguments",
    "LimitReached",
    "Limits",
    "Message",
    "MissingPackage",
    "NotFound",
    "PermissionDenied",
    "RateLimited",
    "ReasoningDelta",
    "RequestTimeout",
    "Run",
    "RunFinished",
    "RunResult",
    "ServerError",
    "Stream",
    "StreamBroken",
    "TextDelta",
    "Tool",
    "ToolCall",
    "ToolDefinitionError",
    "ToolError",
    "Toolbox",
    "TurnFinished",
    "TurnStarted",
    "UnknownTool",
    "Usage",
    "tool",
]
