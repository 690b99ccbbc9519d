"""Formats whose calls are JSON: in one value with the name, or behind a header."""

from dataclasses import replace
from functools import partial

from tests.unit.conformance.wire.parts import Call, Text, Think, WriteCall
from tests.unit.conformance.wire.values import json_text, python_text
from tests.unit.conformance.wire.wire import MessageWire, Wire, templated


def args(call: Call) -> str:
    """The arguments as JSON."""
    return json_text(call.args)


def named(key: str = "arguments") -> WriteCall:
    """`{"name": ..., "arguments": {...}}`."""
    return lambda _number, call: json_text({"name": call.name, key: call.args})


def tagged(format_name: str, tag: str) -> Wire:
    """One object in a pair of tags, on lines of their own."""
    return Wire(
        format=format_name,
        call=templated(f"<{tag}>\nARGS\n</{tag}>", lambda call: named()(0, call)),
        between="\n",
        opener=f"<{tag}>",
        closer=f"</{tag}>",
        json=True,
        key="arguments",
    )


def array(format_name: str, opener: str, closer: str = "", key: str = "arguments") -> Wire:
    """All calls in one array."""
    return Wire(
        format=format_name,
        call=named(key),
        before=f"{opener}[",
        between=", ",
        after=f"]{closer}",
        opener=opener,
        closer=closer,
        json=True,
        key=key,
        think=("<think>\n", "\n</think>\n\n") if closer.startswith("</") else None,
    )


def cohere(format_name: str, word: str) -> Wire:
    """Cohere's actions, indented."""
    return Wire(
        format=format_name,
        call=templated(
            '    {"tool_call_id": "NUMBER", "tool_name": "NAME", "parameters": ARGS}', args
        ),
        before="<|START_ACTION|>[\n",
        between=",\n",
        after="\n]<|END_ACTION|>",
        opener="<|START_ACTION|>",
        closer="<|END_ACTION|>",
        think=("<|START_THINKING|>", "<|END_THINKING|>"),
        text=(f"<|START_{word}|>", f"<|END_{word}|>"),
        json=True,
    )


def mistral_id(number: int) -> str:
    """Nine letters and digits."""
    return f"aB3dE6gH{number}"


def call_with_id(number: int, call: Call) -> str:
    """A call of Mistral's older arrays."""
    return json_text({"name": call.name, "arguments": call.args, "id": mistral_id(number)})


def sarashina_call(_number: int, call: Call) -> str:
    """A call as a Python dictionary."""
    return python_text({"name": call.name, "arguments": call.args})


OBJECTS = (
    tagged("hermes", "tool_call"),
    tagged("granite4", "tool_call"),
    tagged("trinity", "tool_call"),
    tagged("ernie45", "tool_call"),
    tagged("longcat", "longcat_tool_call"),
    tagged("hf", "tool_call"),
    Wire(
        format="react",
        call=templated("Action: NAME\nAction Input: ARGS", args),
        between="\n",
        opener="Action: ",
        json=True,
    ),
    Wire(
        format="llama3_json",
        call=named("parameters"),
        json=True,
        key="parameters",
        between="; ",
        think=None,
    ),
    Wire(
        format="granite-20b-fc",
        json=True,
        key="arguments",
        call=templated("<function_call> ARGS", lambda call: named()(0, call)),
        between="\n",
        opener="<function_call>",
        think=None,
    ),
    Wire(
        format="minimax_m1",
        json=True,
        key="arguments",
        call=named(),
        before="<tool_calls>\n",
        between="\n",
        after="\n</tool_calls>",
        opener="<tool_calls>",
        closer="</tool_calls>",
    ),
    Wire(
        format="internlm",
        json=True,
        key="parameters",
        call=templated(
            "<|action_start|><|plugin|>\nARGS<|action_end|>",
            lambda call: named("parameters")(0, call),
        ),
        between="\n",
        opener="<|action_start|><|plugin|>",
        closer="<|action_end|>",
    ),
    Wire(
        format="gigachat3",
        json=True,
        key="arguments",
        call=templated("<|function_call|>ARGS", lambda call: named()(0, call)),
        opener="<|function_call|>",
        think=None,
    ),
)
ARRAYS = (
    array("phi4_mini", "<|tool_call|>", "<|/tool_call|>"),
    replace(
        array("hyperclovax", " -> tool/function_call\n", "<|im_end|>"),
        think=("/think\n", "<|im_end|>\n<|im_start|>assistant"),
    ),
    replace(
        array("granite", "<|tool_call|>"),
        think=("Here is my thought process:\n\n", "\n\nHere is my response:\n\n"),
    ),
    array("jamba", "<tool_calls>", "</tool_calls>"),
    array("hunyuan_a13b", "<tool_calls>", "</tool_calls>"),
    array("nemotron_deci", "<TOOLCALL>", "</TOOLCALL>"),
    array("xlam", ""),
    array("json", "", key="parameters"),
    array("phi4_mini_json", "functools"),
    array("firefunction_v2", " functools"),
    Wire(
        format="apriel",
        json=True,
        key="arguments",
        call=named(),
        before="<tool_calls>[",
        between=", ",
        after="]</tool_calls>",
        opener="<tool_calls>",
        closer="</tool_calls>",
        think=("Here are my reasoning steps:\n", "\n[BEGIN FINAL RESPONSE]\n"),
    ),
    Wire(
        format="apertus",
        json=True,
        call=lambda _number, call: json_text({call.name: call.args}),
        before="<|tools_prefix|>[",
        between=", ",
        after="]<|tools_suffix|>",
        opener="<|tools_prefix|>",
        closer="<|tools_suffix|>",
        think=("<|inner_prefix|>", "<|inner_suffix|>"),
    ),
    cohere("cohere_command3", "RESPONSE"),
    cohere("cohere_command4", "TEXT"),
    Wire(
        format="command_r_plus",
        json=True,
        call=templated('    {"tool_name": "NAME", "parameters": ARGS}', args),
        before="Action:\n```json\n[\n",
        between=",\n",
        after="\n]\n```",
        opener="Action:\n```json",
        closer="```",
        think=None,
    ),
    Wire(
        format="sarashina",
        call=sarashina_call,
        before="<|tool_calls|>[",
        between=", ",
        after="]",
        opener="<|tool_calls|>",
        think=None,
    ),
    Wire(
        format="generic",
        json=True,
        key="arguments",
        call=named(),
        before='{"tool_calls": [',
        between=", ",
        after="]}",
        think=None,
        behind=False,
    ),
    *(
        Wire(
            format=name,
            json=True,
            call=call_with_id,
            before="[TOOL_CALLS][",
            between=", ",
            after="]",
            opener="[TOOL_CALLS]",
            think=("[THINK]", "[/THINK]"),
        )
        for name in ("mistral_v3", "mistral_v7")
    ),
)

_mistral = partial(Wire, opener="[TOOL_CALLS]", think=("[THINK]", "[/THINK]"))
_deepseek = partial(
    Wire,
    before="<｜tool▁calls▁begin｜>",
    after="<｜tool▁calls▁end｜>",
    opener="<｜tool▁calls▁begin｜>",
    closer="<｜tool▁call▁end｜>",
)


def plamo(name: str) -> str:
    """A marker of PLaMo."""
    return f"<|plamo:{name}:plamo|>"


HEADERS = (
    _mistral(
        format="mistral",
        json=True,
        call=lambda _number, call: f"[TOOL_CALLS]{call.name}[ARGS]{args(call)}",
    ),
    _mistral(
        format="mistral_call_id",
        json=True,
        call=lambda number, call: (
            f"[TOOL_CALLS]{call.name}[CALL_ID]{mistral_id(number)}[ARGS]{args(call)}"
        ),
    ),
    _deepseek(
        format="deepseek_v3",
        json=True,
        call=templated(
            "<｜tool▁call▁begin｜>function<｜tool▁sep｜>NAME\n```json\nARGS\n```<｜tool▁call▁end｜>",
            args,
        ),
        between="\n",
    ),
    _deepseek(
        format="deepseek_v31",
        json=True,
        call=templated("<｜tool▁call▁begin｜>NAME<｜tool▁sep｜>ARGS<｜tool▁call▁end｜>", args),
    ),
    Wire(
        format="kimi_k2",
        json=True,
        call=templated(
            "<|tool_call_begin|>functions.NAME:NUMBER<|tool_call_argument_begin|>ARGS"
            "<|tool_call_end|>",
            args,
        ),
        before="<|tool_calls_section_begin|>",
        after="<|tool_calls_section_end|>",
        opener="<|tool_calls_section_begin|>",
        closer="<|tool_call_end|>",
    ),
    Wire(
        format="plamo3",
        json=True,
        call=templated(
            plamo("begin_tool_request")
            + plamo("begin_tool_name")
            + "NAME"
            + plamo("end_tool_name")
            + plamo("begin_tool_arguments")
            + "<|plamo:constrain|>json<|plamo:msg|>ARGS"
            + plamo("end_tool_arguments")
            + plamo("end_tool_request"),
            args,
        ),
        before=plamo("begin_tool_requests"),
        after=plamo("end_tool_requests"),
        opener=plamo("begin_tool_requests"),
        closer=plamo("end_tool_arguments"),
        think=(plamo("begin_think"), plamo("end_think")),
    ),
    Wire(
        format="solar_open",
        json=True,
        call=templated(
            "<|tool_call:begin|>id_NUMBER<|tool_call:name|>NAME<|tool_call:args|>ARGS"
            "<|tool_call:end|>",
            args,
        ),
        before="<|tool_calls|>",
        after="<|calls|>",
        opener="<|tool_calls|>",
        closer="<|tool_call:end|>",
        think=("<|think|>", "<|end|>"),
    ),
    Wire(
        format="functionary_v31",
        json=True,
        call=templated("<function=NAME>ARGS</function>", args),
        opener="<function=",
        closer="</function>",
        think=None,
    ),
    MessageWire(
        format="functionary_v32",
        json=True,
        call=templated("NAME\nARGS", args),
        start=">>>",
        header_end="\n",
        message=lambda part: f"all\n{part.text}",
        think=None,
    ),
)


def harmony_message(part: Text | Think) -> str:
    """Words in one of harmony's channels."""
    channel = "commentary" if isinstance(part, Text) else "analysis"
    return f"<|channel|>{channel}<|message|>{part.text}<|end|>"


def inkling_message(part: Text | Think) -> str:
    """Words in a block of Inkling."""
    kind = "text" if isinstance(part, Text) else "thinking"
    return f"<|message_model|><|content_{kind}|>{part.text}<|end_message|>"


MESSAGES = (
    MessageWire(
        format="openai",
        json=True,
        call=templated(
            "<|channel|>commentary to=functions.NAME <|constrain|>json<|message|>ARGS<|call|>", args
        ),
        start="<|start|>assistant",
        header_end="<|message|>",
        message=harmony_message,
        closer="<|call|>",
    ),
    MessageWire(
        format="glm4_0414",
        json=True,
        call=templated("NAME\nARGS", args),
        start="<|assistant|>",
        header_end="\n",
        message=lambda part: f"\n{part.text}",
        think=None,
    ),
    MessageWire(
        format="inkling",
        json=True,
        key="args",
        call=lambda _number, call: (
            f"<|message_model|>{call.name}<|content_invoke_tool_json|>"
            f"{json_text({'name': call.name, 'args': call.args})}<|end_message|>"
        ),
        start="",
        header_end="<|content_invoke_tool_json|>",
        message=inkling_message,
        closer="<|end_message|>",
    ),
)
