"""What a llama.cpp server reports about its model.

The server silently drops tools if the model's template has no place for them. Asking is the only
way to know before a turn.
"""

import msgspec

from toolwire.backends.base import Capabilities, CapabilityProbe

SERVER = b"llama.cpp"
"""Its name in the header `server`."""


class _Abilities(msgspec.Struct, frozen=True):
    supports_tools: bool = True


class _Properties(msgspec.Struct):
    model_alias: str = ""
    model_path: str = ""
    chat_template: str = ""
    chat_template_caps: _Abilities = _Abilities()


_decode = msgspec.json.Decoder(_Properties).decode


def read_capabilities(body: bytes) -> Capabilities:
    """Read the capabilities. Raises `ValueError`. Older versions do not report them."""
    try:
        told = _decode(body)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    called = (told.model_alias or told.model_path).replace("\\", "/")
    return Capabilities(
        name=called.rpartition("/")[2],
        template=told.chat_template,
        has_tools=told.chat_template_caps.supports_tools,
    )


PROBE = CapabilityProbe("/props", read_capabilities)
"""How to ask for its capabilities; not under `/v1`."""
