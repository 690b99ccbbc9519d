"""Routes messages by their header: one function per message format."""

import re

from toolwire.formats.channels import Destination, Target
from toolwire.formats.tools.declared_tools import DeclaredTools

_RECIPIENT = re.compile(r"\bto=([^\s<]{1,128}+)")
_FUNCTION = re.compile(r"\bfunctions\.[^\s<]{1,128}+")
_NOT_TOOLS = frozenset({"assistant", "user", "all"})  # a message to these is not a call
_CHANNEL = re.compile(r"analysis|commentary|final")
_BUILT_IN = re.compile(r"(?:assistant|user|self|python|browser|container)(?:\..*+)?+")
_NAME = re.compile(r"[\w.\-]{1,128}+")
_TOOL = re.compile(r"[\"'`]?(?:functions[./:]++)?+([a-zA-Z0-9_.\-]{1,128}+)", re.IGNORECASE)
_THINK = "<think>"
_CONTENT_KINDS: dict[str, Target] = {
    "<|content_text|>": "text",
    "<|content_tool_error|>": "text",
    "<|content_thinking|>": "reasoning",
    "<|content_invoke_tool_json|>": "tool",
    "<|content_invoke_tool_text|>": "tool",
}
CONTENT_MARKERS = tuple(_CONTENT_KINDS)


def harmony(header: str, _end: str, tools: DeclaredTools) -> Destination | None:
    """`<|channel|>commentary to=functions.NAME`: junk around known words is ignored.

    Such a name is the recipient even if `to=` is missing.
    """
    found = _RECIPIENT.findall(header) or _FUNCTION.findall(header)
    recipient = next((r for r in reversed(found) if r not in _NOT_TOOLS), "")
    if recipient and tools.known(name := _name_in(recipient, tools)):
        return Destination("tool", name)
    if recipient.startswith("functions."):
        return Destination("tool", tools.resolve(recipient))
    if recipient and tools.allows(recipient) and not _BUILT_IN.fullmatch(recipient):
        return Destination("tool", recipient)
    channels = _CHANNEL.findall(header)
    thinks = recipient or (channels and channels[-1] == "analysis")
    return Destination("reasoning" if thinks else "text")


def _name_in(recipient: str, tools: DeclaredTools) -> str:
    """Return the tool that a recipient names, also with junk behind it or in quotes."""
    name = tools.resolve(recipient)
    if not tools.known(name) and (plain := _TOOL.match(recipient)):
        return tools.resolve(plain[1].rstrip("."))
    return name


def addressed(header: str, _end: str, tools: DeclaredTools) -> Destination | None:
    """` to=self|user|commentary|NAME`: commentary is shown to the user."""
    found = _RECIPIENT.search(header)
    recipient = found[1] if found else "user"
    if recipient in ("user", "self", "commentary"):
        return Destination("reasoning" if recipient == "self" else "text")
    return Destination("tool", tools.resolve(recipient))


def beam(header: str, end: str, tools: DeclaredTools) -> Destination | None:
    """Harmony's header, but any recipient is a tool, in any channel."""
    found = _RECIPIENT.search(header)
    if found and not _BUILT_IN.fullmatch(found[1]):
        return Destination("tool", tools.resolve(found[1]))
    return harmony(header, end, tools)


def by_content_kind(header: str, end: str, _tools: DeclaredTools) -> Destination | None:
    """The marker that ends the header says what follows.

    A JSON call has its name in the body. A raw-text call has it only in the header.
    """
    target = _CONTENT_KINDS[end]
    if end != "<|content_invoke_tool_text|>":
        return Destination(target)
    name = header.strip()
    return Destination(target, name) if _NAME.fullmatch(name) else None


def by_tool(header: str, _end: str, tools: DeclaredTools) -> Destination | None:
    """The header is a tool's name, or empty; anything else is not a header.

    Functionary's text may follow a call, because both formats write their first call alike.
    """
    name = header.strip()
    if name == _THINK:
        return Destination("reasoning")
    if not name or header == "all":
        return Destination("text")
    return Destination("tool", name) if _NAME.fullmatch(name) and tools.known(name) else None


def by_name(header: str, _end: str, tools: DeclaredTools) -> Destination | None:
    """The header is `all`, or a tool's name; anything else is not a header."""
    name = header.strip()
    if name == "all":
        return Destination("text")
    return Destination("tool", name) if _NAME.fullmatch(name) and tools.allows(name) else None
