"""Formats whose calls are Python, elements per parameter, or objects with odd delimiters."""

from collections.abc import Callable
from functools import partial
from typing import Any

from tests.unit.conformance.wire.parts import Call, Text, Think
from tests.unit.conformance.wire.values import (
    escaped_text,
    json_type,
    lax_text,
    plain_text,
    python_call,
    tree_text,
)
from tests.unit.conformance.wire.wire import MessageWire, Wire, templated

_python = partial(Wire, call=lambda _number, call: python_call(call.name, call.args))

PYTHON = (
    _python(format="pythonic", before="[", between=", ", after="]", think=None),
    _python(
        format="llama4_pythonic",
        before="<|python_start|>[",
        between=", ",
        after="]<|python_end|>",
        opener="<|python_start|>",
        closer="<|python_end|>",
        think=None,
    ),
    _python(
        format="gemma3",
        before="```tool_code\n",
        between="\n",
        after="\n```",
        opener="```tool_code\n",
        closer="```",
        think=None,
    ),
    Wire(
        format="ui_tars",
        call=lambda _number, call: f"Action: {python_call(call.name, call.args)}",
        between="\n\n",
        opener="Action: ",
        think=None,
    ),
    _python(
        format="olmo3",
        before="<function_calls>",
        between="\n",
        after="</function_calls>",
        opener="<function_calls>",
        closer="</function_calls>",
    ),
    _python(
        format="lfm2",
        before="<|tool_call_start|>[",
        between=", ",
        after="]<|tool_call_end|>",
        opener="<|tool_call_start|>",
        closer="<|tool_call_end|>",
    ),
)


def params(template: str, write: Callable[[Any], str] = plain_text) -> Callable[[Call], str]:
    """Each parameter by a template with KEY, VALUE, TYPE and STRING in it."""

    def parameter(key: str, value: Any) -> str:
        head = template.replace("TYPE", json_type(value))
        head = head.replace("STRING", "true" if isinstance(value, str) else "false")
        return head.replace("KEY", key).replace("VALUE", write(value))

    return lambda call: "".join(parameter(key, value) for key, value in call.args.items())


def functions(format_name: str, wrapper: str, newline: str, think: str = "think") -> Wire:
    """`<function=NAME> <parameter=KEY>`, as Qwen's coders write it."""
    return Wire(
        format=format_name,
        call=templated(
            f"<{wrapper}>\n<function=NAME>\nARGS</function>\n</{wrapper}>",
            params(f"<parameter=KEY>{newline}VALUE{newline}</parameter>\n"),
        ),
        between="\n",
        opener=f"<{wrapper}>",
        closer="</function>",
        value_closer="</parameter>",
        think=(f"<{think}>\n", f"\n</{think}>\n\n"),
        by_schema=True,
    )


def markup(format_name: str, mark: str, wrapper: str) -> Wire:
    """DeepSeek's markup language."""
    return Wire(
        format=format_name,
        call=templated(
            f'<{mark}invoke name="NAME">\nARGS</{mark}invoke>\n',
            params(f'<{mark}parameter name="KEY" string="STRING">VALUE</{mark}parameter>\n'),
        ),
        before=f"<{mark}{wrapper}>\n",
        after=f"</{mark}{wrapper}>",
        opener=f"<{mark}{wrapper}>",
        closer=f"</{mark}invoke>",
        value_closer=f"</{mark}parameter>",
    )


def keyed(format_name: str, newline: str = "", tag: str = "tool_call") -> Wire:
    """`NAME <arg_key>K</arg_key> <arg_value>V</arg_value>`, as GLM writes it."""
    return Wire(
        format=format_name,
        call=templated(
            f"<{tag}>NAME{newline}ARGS</{tag}>",
            params(f"<arg_key>KEY</arg_key>{newline}<arg_value>VALUE</arg_value>{newline}"),
        ),
        between=newline,
        opener=f"<{tag}>",
        closer=f"</{tag}>",
        value_closer="</arg_value>",
        by_schema=True,
    )


def invoked(format_name: str, wrapper: str) -> Wire:
    """`<invoke name="NAME"> <parameter name="K">V</parameter>`."""
    return Wire(
        format=format_name,
        call=templated(
            '<invoke name="NAME">\nARGS</invoke>\n',
            params('<parameter name="KEY">VALUE</parameter>\n'),
        ),
        before=f"<{wrapper}>\n",
        after=f"</{wrapper}>",
        opener=f"<{wrapper}>",
        closer="</invoke>",
        value_closer="</parameter>",
        by_schema=True,
    )


def character_data(value: Any) -> str:
    """MiniCPM puts markup and lines into CDATA."""
    text = plain_text(value)
    return f"<![CDATA[{text}]]>" if "<" in text or "\n" in text else text


def cline_params(call: Call) -> str:
    """An element per parameter, called as the parameter is."""
    return "".join(f"<{key}>\n{plain_text(value)}\n</{key}>\n" for key, value in call.args.items())


_M3 = "]<]minimax[>["

TAGGED = (
    functions("qwen3_coder", "tool_call", "\n"),
    functions("step3p5", "tool_call", "\n"),
    functions("seed_oss", "seed:tool_call", "", think="seed:think"),
    functions("mimo", "tool_call", ""),
    markup("deepseek_v32", "｜DSML｜", "function_calls"),
    markup("deepseek_v4", "｜DSML｜", "tool_calls"),
    markup("deepseek_v41", "｜DSML｜ ", "calls"),
    markup("gigachat35", "｜GCML｜", "tool_calls"),
    keyed("glm45", "\n"),
    keyed("glm47"),
    keyed("ling3"),
    keyed("poolside_v1"),
    keyed("spark25"),
    keyed("iquest_q1", tag="iquest_tool_call"),
    Wire(
        format="hy_v3",
        call=templated(
            "<tool_call>NAME<tool_sep>\nARGS</tool_call>\n",
            params("<arg_key>KEY</arg_key>\n<arg_value>VALUE</arg_value>\n"),
        ),
        before="<tool_calls>\n",
        after="</tool_calls>",
        opener="<tool_calls>",
        closer="</tool_call>",
        value_closer="</arg_value>",
        think=("<think>", "</think>"),
        by_schema=True,
    ),
    Wire(
        format="hy_v4",
        call=templated(
            "<tool_call>NAMEARGS</tool_call>",
            params("<arg_key>KEY</arg_key><arg_value>VALUE</arg_value>"),
        ),
        before="<tool_calls>",
        after="</tool_calls>",
        opener="<tool_calls>",
        closer="</tool_call>",
        value_closer="</arg_value>",
        think=("<think>", "</think>"),
        by_schema=True,
    ),
    Wire(
        format="k2_horizon",
        call=templated(
            "<ifm|tool_call>NAMEARGS</ifm|tool_call>\n",
            params("<ifm|arg_key>KEY</ifm|arg_key><ifm|arg_value>VALUE</ifm|arg_value>"),
        ),
        before="<ifm|tool_calls>\n",
        after="</ifm|tool_calls>",
        opener="<ifm|tool_calls>",
        closer="</ifm|tool_call>",
        value_closer="</ifm|arg_value>",
        think=("<ifm|think>", "</ifm|think>"),
        by_schema=True,
    ),
    invoked("anthropic_xml", "function_calls"),
    invoked("minimax_m2", "minimax:tool_call"),
    Wire(
        format="longcat_tagged",
        call=templated(
            "<longcat_tool_call>NAME\nARGS</longcat_tool_call>",
            params(
                "<longcat_arg_key>KEY</longcat_arg_key>\n"
                "<longcat_arg_value>VALUE</longcat_arg_value>\n"
            ),
        ),
        between="\n",
        opener="<longcat_tool_call>",
        closer="</longcat_tool_call>",
        value_closer="</longcat_arg_value>",
        by_schema=True,
    ),
    invoked("dots", "dots_function_call"),
    Wire(
        format="minimax_m3",
        call=templated(
            f'{_M3}<invoke name="NAME">ARGS{_M3}</invoke>\n',
            lambda call: "".join(tree_text(key, value, _M3) for key, value in call.args.items()),
        ),
        before=f"{_M3}<tool_call>\n",
        after=f"{_M3}</tool_call>",
        opener=f"{_M3}<tool_call>",
        closer=f"{_M3}</invoke>",
        think=("<mm:think>\n", "\n</mm:think>\n\n"),
        by_schema=True,
        live=False,
        untyped=True,
    ),
    Wire(
        format="step3",
        call=templated(
            '<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="NAME">ARGS'
            "</steptml:invoke><｜tool_call_end｜>",
            params('<steptml:parameter name="KEY">VALUE</steptml:parameter>'),
        ),
        before="<｜tool_calls_begin｜>",
        after="<｜tool_calls_end｜>",
        opener="<｜tool_calls_begin｜>",
        closer="</steptml:invoke>",
        value_closer="</steptml:parameter>",
        by_schema=True,
    ),
    Wire(
        format="minicpm5",
        call=templated(
            '<function name="NAME">ARGS</function>',
            params('<param name="KEY">VALUE</param>', character_data),
        ),
        between="\n",
        opener="<function",
        closer="</function>",
        by_schema=True,
    ),
    Wire(
        format="cline_xml",
        call=templated("<NAME>\nARGS</NAME>", cline_params),
        between="\n",
        think=None,
        by_schema=True,
    ),
)


KIMI_K3 = Wire(
    format="kimi_k3",
    call=lambda number, call: templated(
        f'<|open|>call tool="NAME" index="{number + 1}"<|sep|>ARGS<|close|>call<|sep|>',
        params('<|open|>argument key="KEY" type="TYPE"<|sep|>VALUE<|close|>argument<|sep|>'),
    )(number, call),
    before="<|open|>tools<|sep|>",
    after="<|close|>tools<|sep|>",
    opener="<|open|>tools<|sep|>",
    closer="<|close|>call<|sep|>",
    value_closer="<|close|>argument<|sep|>",
    think=("<|open|>think<|sep|>", "<|close|>think<|sep|>"),
    text=("<|open|>response<|sep|>", "<|close|>response<|sep|>"),
    behind=False,
)


def muse_message(part: Text | Think) -> str:
    """Words to the user or to the model itself."""
    return f" to={'user' if isinstance(part, Text) else 'self'}<|message|>{part.text}<|eom|>"


def beam_message(part: Text | Think) -> str:
    """Words in one of the channels."""
    channel = "final" if isinstance(part, Text) else "analysis"
    return f"<|channel|>{channel}<|message|>{part.text}<|end|>"


MESSAGES = (
    MessageWire(
        format="muse_glimmer",
        call=templated(
            " to=NAME<|message|><atem:function_calls>\n"
            '<atem:invoke name="NAME">\nARGS</atem:invoke>\n</atem:function_calls><|eom|>',
            params('<atem:parameter name="KEY">VALUE</atem:parameter>\n'),
        ),
        start="<|start|>assistant",
        header_end="<|message|>",
        message=muse_message,
        closer="</atem:invoke>",
        value_closer="</atem:parameter>",
    ),
    MessageWire(
        format="beam",
        call=templated(
            " to=NAME<|channel|>analysis <|constrain|>xml<|message|>ARGS<|call|>",
            params('<rfl:parameter name="KEY">\nVALUE\n</rfl:parameter>'),
        ),
        start="<|start|>assistant",
        header_end="<|message|>",
        message=beam_message,
        closer="<|call|>",
        value_closer="</rfl:parameter>",
        by_schema=True,
    ),
)
LAX = (
    Wire(
        format="gemma4",
        call=templated(
            "<|tool_call>call:NAMEARGS<tool_call|>", lambda call: lax_text(call.args, '<|"|>')
        ),
        opener="<|tool_call>",
        closer="<tool_call|>",
        think=("<|channel>thought\n", "\n<channel|>"),
    ),
    Wire(
        format="functiongemma",
        call=templated(
            "<start_function_call>call:NAME{ARGS}<end_function_call>",
            lambda call: ",".join(
                f"{key}:{escaped_text(value, '<escape>')}" for key, value in call.args.items()
            ),
        ),
        opener="<start_function_call>",
        closer="<end_function_call>",
        think=None,
        by_schema=True,
    ),
)
