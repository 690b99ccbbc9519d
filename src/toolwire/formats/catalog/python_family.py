"""Family C: calls written as Python expressions."""

from functools import partial

from toolwire.formats.catalog.json_family import THINK
from toolwire.formats.engines.either import json_or
from toolwire.formats.engines.json_calls import JsonCalls
from toolwire.formats.engines.py_calls import PyCalls
from toolwire.formats.framing import Markers
from toolwire.formats.record import Format
from toolwire.formats.rendering.writing import Results, Writing

_python = partial(Format, family="pythonic", engine=PyCalls())
_IPYTHON = Results('{"output": {json}}', role="ipython", merged=False, error='{"error": {json}}')

PYTHONIC = _python(
    name="pythonic",
    signs=(("[func_name1(",),),
    framing=Markers(
        opens=("<|python_start|>", "<|python_tag|>"),
        ends=("<|python_end|>", "<|eom_id|>", "<|eot_id|>"),
        bare=("[",),
        bare_start="any",
    ),
    writing=Writing("{python}", before="[", between=", ", after="]"),
    results=_IPYTHON,
    models=(
        r"toolace.*",
        r"watt-tool.*",
        r"ultravox",
        r"llama-3\.2-[13]b.*pythonic",
    ),
)
LLAMA4_PYTHONIC = _python(
    name="llama4_pythonic",
    signs=(("[func_name1(", "<|header_start|>"),),
    framing=Markers(
        opens=("<|python_start|>",),
        ends=("<|python_end|>", "<|eot|>", "<|eom|>"),
        bare=("[",),
        bare_start="any",
    ),
    engine=json_or(PyCalls(), JsonCalls()),
    writing=Writing("{python}", before="<|python_start|>[", between=", ", after="]<|python_end|>"),
    results=_IPYTHON,
    models=(r"llama-?4",),
    special_tokens=("<|python_start|>", "<|python_end|>"),
)
GEMMA3 = _python(
    name="gemma3",
    framing=Markers(
        opens=("```tool_code\n", "```tool_code"),
        ends=("```",),
        bare=("[",),
        bare_start="any",
        drop=("<end_of_turn>",),
    ),
    engine=PyCalls(brackets=False, known=True, wrappers=("print",), code=True),
    writing=Writing("{python}", before="```tool_code\n", between="\n", after="\n```"),
    results=Results("```tool_output\n{result}\n```", between="\n"),
    models=(r"gemma-?3(?!n)",),
    signs=(("```tool_code",),),
)
UI_TARS = _python(
    name="ui_tars",
    framing=Markers(opens=("Action: ", "Action:"), strict=True),
    engine=PyCalls(brackets=False, known=True),
    writing=Writing("Action: {python}", between="\n\n"),
    results=Results("{result}", merged=False),
    aliases=("ui-tars",),
    models=(r"ui-?tars",),
)
OLMO3 = _python(
    name="olmo3",
    framing=Markers(opens=("<function_calls>",), ends=("</function_calls>",), reasoning=THINK),
    engine=json_or(PyCalls(brackets=False), JsonCalls()),
    writing=Writing("{python}", before="<function_calls>", between="\n", after="</function_calls>"),
    results=Results("{result}", role="environment", merged=False),
    models=(r"olmo-?3",),
)
LFM2 = _python(
    name="lfm2",
    signs=(("<|tool_list_start|>",), ("List of tools: [",)),
    framing=Markers(
        opens=("<|tool_call_start|>",),
        ends=("<|tool_call_end|>",),
        drop=("<|tool_call_end|>",),
        reasoning=THINK,
        echoes=True,
    ),
    engine=json_or(PyCalls(), JsonCalls()),
    writing=Writing(
        "{python}", before="<|tool_call_start|>[", between=", ", after="]<|tool_call_end|>"
    ),
    results=Results(
        "<|tool_response_start|>{result}<|tool_response_end|>", role="tool", merged=False
    ),
    models=(r"lfm-?2",),
    special_tokens=("<|tool_call_start|>", "<|tool_call_end|>"),
)
