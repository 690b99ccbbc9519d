"""Family D, keyed: the name and the value of a parameter are in separate elements."""

from functools import partial

from msgspec.structs import replace

from toolwire.formats.catalog.json_family import THINK, lines
from toolwire.formats.engines.either import json_or
from toolwire.formats.engines.json_calls import JsonCalls
from toolwire.formats.engines.tagged import Tagged
from toolwire.formats.framing import Markers
from toolwire.formats.markers import Reasoning, thinking
from toolwire.formats.record import Format
from toolwire.formats.rendering.writing import Results, Writing

_tagged = partial(Format, family="tagged")
_PLAIN_RESULT = "<tool_response>{result}</tool_response>"


def _keyed(
    mark: str = "",
    sep: str = "",
    *,
    call_close: str = "",
    loose: bool = False,
    types: bool = False,
) -> Tagged:
    """`NAME <arg_key>K</arg_key> <arg_value>V</arg_value>`."""
    call_closes = ("</tool_call>", call_close or f"</{mark}tool_call>")
    return Tagged(
        head_ends=(sep,) if sep else (),
        param=f"<{mark}arg_key>",
        key_end=f"</{mark}arg_key>",
        value_open=f"<{mark}arg_value>",
        close=f"</{mark}arg_value>",
        close_slips=(f"</{mark}arg_key>",),
        call_close=call_closes,
        ends_around=tuple(close.replace("/", "") for close in call_closes),
        type_tags=(f"<{mark}arg_type>", f"</{mark}arg_type>") if types else ("", ""),
        typing="type-attribute" if types else "schema",
        loose=loose,
    )


def _keyed_writing(tag: str, newline: str) -> Writing:
    return Writing(
        f"<{tag}>{{name}}{newline}{{params}}</{tag}>",
        between="\n" if newline else "",
        param=f"<arg_key>{{key}}</arg_key>{newline}<arg_value>{{value}}</arg_value>{newline}",
    )


def _named(tag: str) -> Markers:
    return Markers(opens=(f"<{tag}>",), ends=(f"</{tag}>",), reasoning=THINK)


_glm = partial(_tagged, framing=_named("tool_call"), engine=json_or(_keyed(), JsonCalls()))
GLM45 = _glm(
    name="glm45",
    writing=_keyed_writing("tool_call", "\n"),
    results=Results(role="observation"),
    aliases=("glm", "glm4_moe", "glm45_moe"),
    models=(r"glm-?4\.[56]",),
)
GLM47 = _glm(
    name="glm47",
    signs=(("</arg_key><arg_value>", "<|observation|>"),),
    writing=_keyed_writing("tool_call", ""),
    results=Results(_PLAIN_RESULT, role="observation", between=""),
    aliases=("glm47_moe",),
    models=(r"glm-?4\.7", r"glm-?5"),
)
LING3 = _glm(name="ling3", writing=_keyed_writing("tool_call", ""), models=(r"ling-?3", r"ring-?3"))
POOLSIDE_V1 = _glm(
    name="poolside_v1",
    framing=Markers(  # the model confuses two of its tokens
        opens=("<tool_call>", "<user>"), ends=("</tool_call>", "</user>"), reasoning=THINK
    ),
    signs=(("<arg_key>", "<arg_value>", "<assistant>"),),
    writing=_keyed_writing("tool_call", ""),
    models=(r"laguna", r"poolside"),
)
SPARK25 = _glm(name="spark25", writing=_keyed_writing("tool_call", ""), models=(r"spark-?2\.5",))
IQUEST_Q1 = _tagged(
    name="iquest_q1",
    framing=_named("iquest_tool_call"),
    engine=json_or(_keyed(call_close="</iquest_tool_call>"), JsonCalls()),
    writing=_keyed_writing("iquest_tool_call", ""),
    models=(r"iquest",),
)
_LONGCAT = json_or(_keyed("longcat_"), JsonCalls())
_longcat = partial(
    _tagged,
    framing=replace(_named("longcat_tool_call"), reasoning=(*thinking("longcat_think"), *THINK)),
    engine=_LONGCAT,
    results=Results(role="tool"),
)
LONGCAT = _longcat(
    name="longcat",
    family="json",
    writing=lines("longcat_tool_call"),
    models=(r"longcat-flash-chat", r"longcat"),
)
LONGCAT_TAGGED = _longcat(
    name="longcat_tagged",
    writing=Writing(
        "<longcat_tool_call>{name}\n{params}</longcat_tool_call>",
        between="\n",
        param="<longcat_arg_key>{key}</longcat_arg_key>\n"
        "<longcat_arg_value>{value}</longcat_arg_value>\n",
    ),
    models=(r"longcat-2", r"longcat-next", r"longcat-flash-(thinking|lite|omni)"),
)
_HY_TAGS = (
    "<tool_calls>",
    "</tool_calls>",
    "<tool_call>",
    "</tool_call>",
    "<think>",
    "</think>",
)
_hy = partial(
    _tagged,
    framing=Markers(
        sections=("<tool_calls>",),
        opens=("<tool_call>",),
        ends=("</tool_call>", "</tool_calls>"),
        reasoning=(Reasoning(("<think>",), ("</think>",)),),
        loose=_HY_TAGS,
    ),
    results=Results(role="tool", before="<tool_responses>\n", after="\n</tool_responses>"),
)
HY_V3 = _hy(
    name="hy_v3",
    signs=(("<tool_call{}>", "<arg_key{}>", "<tool_sep{}>"),),
    engine=json_or(_keyed(sep="<tool_sep>", loose=True), JsonCalls()),
    writing=Writing(
        "<tool_call>{name}<tool_sep>\n{params}</tool_call>\n",
        before="<tool_calls>\n",
        after="</tool_calls>",
        param="<arg_key>{key}</arg_key>\n<arg_value>{value}</arg_value>\n",
    ),
    aliases=("hunyuan",),
    models=(r"\bhy-?3", r"hunyuan-?3(?!b)"),
)
HY_V4 = _hy(
    name="hy_v4",
    signs=(("<tool_call{}>", "<arg_key{}>"),),
    engine=json_or(_keyed(sep="<tool_sep>", loose=True), JsonCalls()),
    writing=Writing(
        "<tool_call>{name}{params}</tool_call>",
        before="<tool_calls>",
        after="</tool_calls>",
        param="<arg_key>{key}</arg_key><arg_value>{value}</arg_value>",
    ),
    models=(r"\bhy-?4", r"hunyuan-?4(?!b)"),
)
K2_HORIZON = _tagged(
    name="k2_horizon",
    framing=Markers(
        sections=("<ifm|tool_calls>",),
        opens=("<ifm|tool_call>",),
        ends=("</ifm|tool_call>", "</ifm|tool_calls>"),
        reasoning=tuple(
            Reasoning((f"<ifm|think{how}>",), (f"</ifm|think{how}>",))
            for how in ("", "_fast", "_faster")
        ),
    ),
    engine=json_or(_keyed("ifm|", types=True), JsonCalls()),
    writing=Writing(
        "<ifm|tool_call>{name}{params}</ifm|tool_call>\n",
        before="<ifm|tool_calls>\n",
        after="</ifm|tool_calls>",
        param="<ifm|arg_key>{key}</ifm|arg_key><ifm|arg_value>{value}</ifm|arg_value>",
    ),
    models=(r"k2-?(v3|horizon)",),
    special_tokens=("<ifm|tool_calls>", "<ifm|tool_call>"),
)
