"""Families E and F: typed messages, and objects with their own string delimiter."""

import re
from functools import partial

from toolwire.formats.catalog.routes import (
    CONTENT_MARKERS,
    addressed,
    beam,
    by_content_kind,
    harmony,
)
from toolwire.formats.channels import Channels
from toolwire.formats.engines.either import Either, json_or
from toolwire.formats.engines.head_json import HeadJson
from toolwire.formats.engines.json_calls import JsonCalls
from toolwire.formats.engines.lax_object import LaxObject
from toolwire.formats.engines.raw_body import NamedOr, RawBody
from toolwire.formats.engines.tagged import Tagged
from toolwire.formats.engines.tags import spelled
from toolwire.formats.engines.wrapped import Wrapped
from toolwire.formats.framing import Markers
from toolwire.formats.markers import Reasoning
from toolwire.formats.record import Format
from toolwire.formats.rendering.writing import Results, Writing
from toolwire.formats.stripped import HeaderWords, StrippableChannels

_messages = partial(Format, family="messages")
_lax = partial(Format, family="lax object")

_HARMONY_ENDS = ("<|end|>", "<|call|>", "<|return|>", "<|endoftext|>")
_RFL = Tagged(
    param="<rfl:parameter",
    key="name",
    close="</rfl:parameter>",
    call_close=(),
    trim=True,
)
OPENAI = _messages(
    name="openai",
    signs=(("<|start|>", "<|channel|>", "<|message|>", "functions."),),
    framing=StrippableChannels(
        starts=("<|start|>",),
        header_ends=("<|message|>",),
        message_ends=_HARMONY_ENDS,
        inner=("<|channel|>",),
        first=(
            " to=",
            "to=",
            "assistant<|channel|>",
            "assistant to=",
            "commentary<|channel|>",
            "commentary to=",
            *(f"{channel}<|message|>" for channel in ("analysis", "commentary", "final")),
            "<|message|>",
        ),
        route=harmony,
        words=HeaderWords(
            role="assistant",
            channels={"analysis": "reasoning", "commentary": "text"},
            last="final",
            recipient="to=functions.",
            types=("json", "code"),
        ),
    ),
    engine=Either(  # some finetunes write elements, as Beam does
        looks=re.compile(r"\s{0,20}+<rfl:p"),
        prefix=re.compile(r"\s{0,20}+(?:<(?:r(?:f(?:l:?+)?+)?+)?+)?+"),
        first=_RFL,
        second=HeadJson(broken_body=True),
    ),
    writing=Writing(
        "<|start|>assistant to=functions.{name}<|channel|>commentary json<|message|>{args}<|call|>"
    ),
    results=Results(
        "<|start|>functions.{name} to=assistant<|channel|>commentary<|message|>{json}<|end|>",
        role="tool",
        merged=False,
    ),
    aliases=("harmony", "gpt-oss", "gpt_oss"),
    models=(r"gpt-?oss",),
    special_tokens=(
        "<|start|>",
        "<|channel|>",
        "<|constrain|>",
        "<|message|>",
        "<|end|>",
        "<|call|>",
        "<|return|>",
    ),
)
_ATEM = Wrapped(
    opens=("<atem:invoke",),
    around=("<atem:function_calls>", "</atem:function_calls>"),
    inner=Tagged(
        head="name",
        param="<atem:parameter",
        key="name",
        close="</atem:parameter>",
        call_close=("</atem:invoke>",),
        typing="json",
        ends_around=("<atem:invoke", "</atem:function_calls>"),
    ),
)
MUSE_GLIMMER = _messages(
    name="muse_glimmer",
    framing=Channels(
        starts=("<|start|>",),
        header_ends=("<|message|>",),
        message_ends=("<|eom|>", "<|eot|>"),
        inner=tuple(f"to={to}<|message|>" for to in ("self", "user", "commentary")),
        first=(" to=", "to=", "<|message|>", "assistant to="),
        unstarted="to={name}<|message|>",
        route=addressed,
    ),
    engine=_ATEM,
    writing=Writing(
        "<|start|>assistant to={name}<|message|><atem:function_calls>\n"
        '<atem:invoke name="{name}">\n{params}</atem:invoke>\n</atem:function_calls><|eom|>',
        param='<atem:parameter name="{key}">{value}</atem:parameter>\n',
    ),
    results=Results(
        '<tool_output name="{name}">\n{result}\n</tool_output>', role="tool", merged=False
    ),
    aliases=("muse",),
    models=(r"muse-?glimmer", r"glimmer"),
    special_tokens=("<|start|>", "<|message|>", "<|eom|>", "<|eot|>"),
)
BEAM = _messages(
    name="beam",
    signs=(("<|start|>", "<|channel|>", "<|message|>", "<rfl:parameter"),),
    framing=Channels(
        starts=("<|start|>",),
        header_ends=("<|message|>",),
        message_ends=_HARMONY_ENDS,
        inner=("<|channel|>",),
        first=(" to=", "to=", "assistant to=", "<|message|>"),
        route=beam,
    ),
    engine=_RFL,
    writing=Writing(
        "<|start|>assistant to={name}<|channel|>analysis <|constrain|>xml<|message|>"
        "{params}<|call|>",
        param='<rfl:parameter name="{key}">\n{value}\n</rfl:parameter>',
    ),
    results=Results("{result}", role="tool", merged=False),
    models=(r"\bbeam",),
)
INKLING = _messages(
    name="inkling",
    framing=Channels(
        starts=("<|message_model|>",),
        header_ends=CONTENT_MARKERS,
        message_ends=("<|end_message|>", "<|content_model_end_sampling|>"),
        inner=CONTENT_MARKERS,
        named="<|content_invoke_tool_",
        route=by_content_kind,
    ),
    engine=NamedOr(RawBody(), JsonCalls()),
    writing=Writing(
        "<|message_model|>{name}<|content_invoke_tool_json|>{json}<|end_message|>",
        keys=("name", "args"),
    ),
    results=Results("{result}", role="tool", merged=False),
    models=(r"inkling",),
    special_tokens=("<|message_model|>", *CONTENT_MARKERS, "<|end_message|>"),
)


def _open(name: str) -> str:
    return f"<|open|>{name}<|sep|>"


def _close(name: str) -> str:
    return f"<|close|>{name}<|sep|>"


# There may be a space next to the tag's name.
_SPACES = (("<|open|>", "<|open|> "), ("<|close|>", "<|close|> "), ("<|sep|>", " <|sep|>"))
_spaced = partial(spelled, spellings=_SPACES)
KIMI_K3 = _messages(
    name="kimi_k3",
    framing=Markers(
        sections=_spaced((_open("tools"),)),
        opens=_spaced(("<|open|>call",)),
        ends=_spaced((_close("call"), _close("tools"), _close("message"), "<|end_of_msg|>")),
        drop=_spaced(
            (
                *(_open('message role="assistant"'), _open("response")),
                *(_close("message"), "<|end_of_msg|>"),
                *(_close("response") + layout for layout in ("", "\n", "\n\n")),
            )
        ),
        reasoning=(
            Reasoning(
                _spaced((_open("think"),)),
                _spaced(
                    (
                        *(_close("think") + layout for layout in ("", "\n", "\n\n")),
                        _open("response"),
                    )
                ),
            ),
        ),
    ),
    engine=Tagged(
        head="tool",
        head_ends=("<|sep|>",),
        param="<|open|>argument",
        key="key",
        key_end="<|sep|>",
        close=_close("argument"),
        call_close=(_close("call"),),
        typing="type-attribute",
        json_tags=(_open('json type="object"'), _close("json")),
        spellings=_SPACES,
    ),
    writing=Writing(
        '<|open|>call tool="{name}" index="{number}"<|sep|>{params}<|close|>call<|sep|>',
        before=_open("tools"),
        after=_close("tools"),
        param='<|open|>argument key="{key}" type="{type}"<|sep|>{value}<|close|>argument<|sep|>',
        escape_attributes=True,
    ),
    results=Results(
        '<|open|>message role="tool" tool="{name}" index="{number}"<|sep|>{result}'
        "<|close|>message<|sep|><|end_of_msg|>",
        role="tool",
        merged=False,
    ),
    models=(r"kimi-?k3",),
    special_tokens=("<|open|>", "<|sep|>", "<|close|>", "<|end_of_msg|>"),
)
GEMMA4 = _lax(
    name="gemma4",
    framing=Markers(
        opens=("<|tool_call>",),
        ends=("<tool_call|>",),
        drop=("<|tool_response>", "<turn|>", "<eos>"),
        reasoning=(
            Reasoning(
                ("<|channel>thought\n", "<|channel>thought", "<|channel>"),
                ("<channel|>", "\n<channel|>"),
            ),
        ),
    ),
    engine=json_or(LaxObject('<|"|>'), JsonCalls()),
    writing=Writing("<|tool_call>call:{name}{lax}<tool_call|>", delimiter='<|"|>'),
    results=Results(
        '<|tool_response>response:{name}{value:<|"|>{result}<|"|>}<tool_response|>',
        role="model",
        between="",
        error='<|tool_response>response:{name}{error:<|"|>{result}<|"|>}<tool_response|>',
    ),
    models=(r"gemma-?4",),
    special_tokens=("<|tool_call>", "<tool_call|>", '<|"|>', "<|channel>", "<channel|>"),
)
FUNCTIONGEMMA = _lax(
    name="functiongemma",
    framing=Markers(
        opens=("<start_function_call>",),
        ends=("<end_function_call>",),
        drop=("<start_function_response>", "<end_of_turn>"),
    ),
    engine=json_or(LaxObject("<escape>", typed=True), JsonCalls()),
    writing=Writing(
        "<start_function_call>call:{name}{lax}<end_function_call>", delimiter="<escape>"
    ),
    results=Results(
        "Function result for {name}: {result}",
        merged=False,
        error="Function error for {name}: {result}",
    ),
    models=(r"functiongemma",),
    special_tokens=("<start_function_call>", "<end_function_call>", "<escape>"),
)
