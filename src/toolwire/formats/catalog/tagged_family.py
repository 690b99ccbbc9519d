"""Family D: one element per parameter."""

from functools import partial

from msgspec.structs import replace

from toolwire.formats.catalog.functions import FUNCTION, FUNCTION_LINES, JSON_OR_FUNCTIONS, OPENS
from toolwire.formats.catalog.json_family import THINK
from toolwire.formats.engines.either import json_or
from toolwire.formats.engines.json_calls import JsonCalls
from toolwire.formats.engines.tagged import Tagged
from toolwire.formats.engines.tags import Spellings, spelled
from toolwire.formats.engines.wrapped import Wrapped
from toolwire.formats.framing import Markers, ToolMarkers
from toolwire.formats.markers import Reasoning, thinking
from toolwire.formats.record import Format
from toolwire.formats.rendering.writing import Results, Writing

_tagged = partial(Format, family="tagged")
_PLAIN_RESULT = "<tool_response>{result}</tool_response>"
_BARS = (("｜", "|"),)  # fullwidth bars of the tokenizer, written as ASCII


def _functions(wrapper: str, *, think: tuple[Reasoning, ...] = THINK) -> Markers:
    """`<wrapper> <function=NAME> ... </function> </wrapper>`; the wrapper may be missing."""
    return Markers(
        sections=(f"<{wrapper}>",),
        opens=OPENS,
        ends=("</function>", f"</{wrapper}>"),
        reasoning=think,
        inside=JsonCalls(),
    )


def _function_writing(wrapper: str, newline: str) -> Writing:
    return Writing(
        f"<{wrapper}>\n<function={{name}}>\n{{params}}</function>\n</{wrapper}>",
        between="\n",
        param=f"<parameter={{key}}>{newline}{{value}}{newline}</parameter>\n",
    )


QWEN3_CODER = _tagged(
    name="qwen3_coder",
    framing=_functions("tool_call"),
    engine=FUNCTION_LINES,
    writing=_function_writing("tool_call", "\n"),
    aliases=(
        "qwen3_xml",
        "nanbeige",
        "nemotron_nano",
        "nemotron_v3",
        "qwen_xml",
        "qwen_coder",
        "qwen3coder",
        "interns2-preview",
        "granite_thinking",
    ),
    models=(
        r"qwen-?3(\.\d)?.*coder",
        r"qwen-?3\.[5-9]",
        r"nemotron-?3",
        r"granite-?4\.2",
        r"nanbeige",
        r"intern-?s2(-preview)?",
        r"kat-dev",
        r"kat-coder",
        r"intellect-?3",
    ),
)
STEP3P5 = _tagged(
    name="step3p5",
    signs=(("<function=", "<parameter=", "<|im_start|>tool_response"),),
    framing=_functions("tool_call"),
    engine=FUNCTION_LINES,
    writing=_function_writing("tool_call", "\n"),
    results=Results(_PLAIN_RESULT, role="tool_response", between=""),
    models=(r"step-?3\.[57]",),
)
SEED_OSS = _tagged(
    name="seed_oss",
    framing=_functions("seed:tool_call", think=thinking("seed:think")),
    engine=FUNCTION,
    writing=_function_writing("seed:tool_call", ""),
    results=Results("{result}", role="tool", merged=False),
    models=(r"seed-?oss",),
    special_tokens=("<seed:tool_call>", "</seed:tool_call>", "<seed:think>", "</seed:think>"),
)
MIMO = _tagged(
    name="mimo",
    framing=_functions("tool_call"),
    engine=FUNCTION,
    writing=_function_writing("tool_call", ""),
    models=(r"mimo-(?!vl)",),
)


def _closes(mark: str, *names: str) -> tuple[str, ...]:
    """The closing tags of these elements, and what the model writes for them."""
    ways = (f"</{mark}", f"<{mark}/", "</")
    return tuple(f"{way}{name}>" for name in names for way in ways)


def _invokes(mark: str, *wrappers: str) -> Markers:
    """`<｜DSML｜WRAPPER> <｜DSML｜invoke ...> </｜DSML｜invoke> </｜DSML｜WRAPPER>`."""
    closes = (f"</{mark}{name}>" for name in wrappers)
    return Markers(
        sections=spelled((f"<{mark}{name}>" for name in wrappers), _BARS),
        opens=spelled((f"<{mark}invoke",), _BARS),
        ends=spelled((*closes, *_closes(mark, "invoke", wrappers[0])), _BARS),
        drop=("<｜end▁of▁sentence｜>",),
        reasoning=THINK,
        inside=JsonCalls(),
    )


def _markup(mark: str, *wrappers: str) -> partial[Format]:
    """DeepSeek's markup language, also used by GigaChat. An attribute gives the type."""
    return partial(
        _tagged,
        framing=_invokes(mark, *wrappers),
        engine=Tagged(
            head="name",
            param=f"<{mark}parameter",
            key="name",
            close=f"</{mark}parameter>",
            close_slips=_closes(mark, "parameter")[1:],
            call_close=_closes(mark, "invoke"),
            typing="string-attribute",
            wrappers=("arguments", "input"),
            spellings=_BARS,
        ),
        writing=Writing(
            f'<{mark}invoke name="{{name}}">\n{{params}}</{mark}invoke>\n',
            before=f"<{mark}{wrappers[0]}>\n",
            after=f"</{mark}{wrappers[0]}>",
            param=f'<{mark}parameter name="{{key}}" string="{{string}}">'
            f"{{value}}</{mark}parameter>\n",
        ),
        special_tokens=(mark.strip(),),
    )


_DSML_RESULTS = Results("<tool_result>{result}</tool_result>", role="user", between="\n\n")
DEEPSEEK_V32 = _markup("｜DSML｜", "function_calls", "tool_calls", "toolcalls", "tool")(
    name="deepseek_v32",
    signs=(("｜DSML｜", "function_calls>"),),
    results=Results(
        "<result>{result}</result>",
        role="tool",
        before="<function_results>\n",
        after="\n</function_results>",
    ),
    aliases=("deepseek_v3_2", "deepseekv32", "deepseek32", "deepseek-v32"),
    models=(r"deepseek-v3\.2(?!-exp)",),
)
DEEPSEEK_V4 = _markup("｜DSML｜", "tool_calls", "toolcalls", "tool", "function_calls")(
    name="deepseek_v4",
    signs=(("｜DSML｜", "tool_calls>"),),
    results=_DSML_RESULTS,
    aliases=("deepseekv4", "deepseek-v4", "deepseek_v4_0"),
    models=(r"deepseek-v4(?!\.1)",),
)
DEEPSEEK_V41 = _markup("｜DSML｜ ", "calls")(
    name="deepseek_v41",
    signs=(("｜DSML｜ invoke",), ("｜DSML｜ ", "calls>")),
    results=_DSML_RESULTS,
    aliases=("deepseekv41",),
    models=(r"deepseek-v4\.1",),
)
GIGACHAT35 = _markup("｜GCML｜", "tool_calls")(
    name="gigachat35", signs=(("｜GCML｜",),), results=_DSML_RESULTS, models=(r"gigachat-?3\.5",)
)


_INVOKE = Tagged(
    head="name",
    param="<parameter",
    key="name",
    close="</parameter>",
    call_close=("</invoke>",),
)


def _invoke_writing(wrapper: str) -> Writing:
    return Writing(
        '<invoke name="{name}">\n{params}</invoke>\n',
        before=f"<{wrapper}>\n",
        after=f"</{wrapper}>",
        param='<parameter name="{key}">{value}</parameter>\n',
    )


def _invoked(wrapper: str, spellings: Spellings = ()) -> Markers:
    return Markers(
        sections=spelled((f"<{wrapper}>",), spellings),
        opens=spelled(("<invoke",), spellings),
        ends=spelled(("</invoke>", f"</{wrapper}>"), spellings),
        reasoning=THINK,
        inside=JsonCalls(),
    )


_NAMESPACED = tuple((name, f"antml:{name}") for name in ("function_calls", "invoke", "parameter"))
ANTHROPIC_XML = _tagged(
    name="anthropic_xml",
    framing=_invoked("function_calls", _NAMESPACED),
    engine=replace(_INVOKE, spellings=_NAMESPACED),
    writing=_invoke_writing("function_calls"),
    results=Results(
        "<result>\n<tool_name>{name}</tool_name>\n<stdout>\n{result}\n</stdout>\n</result>",
        before="<function_results>\n",
        after="\n</function_results>",
        error="<result>\n<tool_name>{name}</tool_name>\n<error>\n{result}\n</error>\n</result>",
    ),
    aliases=("claude_xml",),
    note="what Anthropic's prompts taught before there were tools in the API",
)
_MINIMAX_RESULTS = Results("<response>{result}</response>", role="tool")
MINIMAX_M2 = _tagged(
    name="minimax_m2",
    framing=_invoked("minimax:tool_call"),
    engine=_INVOKE,
    writing=_invoke_writing("minimax:tool_call"),
    results=_MINIMAX_RESULTS,
    aliases=("minimax-m2",),
    models=(r"minimax-m2", r"\bmm-m2"),
    special_tokens=("<minimax:tool_call>", "</minimax:tool_call>"),
)
_M3 = "]<]minimax[>["
MINIMAX_M3 = _tagged(
    name="minimax_m3",
    framing=Markers(
        sections=(f"{_M3}<tool_call>",),
        opens=(f"{_M3}<invoke",),
        ends=(f"{_M3}</invoke>", f"{_M3}</tool_call>"),
        reasoning=thinking("mm:think"),
    ),
    engine=Tagged(
        head="name",
        param=f"{_M3}<",
        close=f"{_M3}</{{key}}>",
        call_close=(f"{_M3}</invoke>", f"{_M3}</tool_call>"),
        tree=_M3,
    ),
    writing=Writing(
        f'{_M3}<invoke name="{{name}}">{{params}}{_M3}</invoke>\n',
        before=f"{_M3}<tool_call>\n",
        after=f"{_M3}</tool_call>",
        param="{tree}",
        delimiter=_M3,
    ),
    results=_MINIMAX_RESULTS,
    aliases=("minimax-m3",),
    models=(r"minimax-m3", r"\bmm-m3"),
    special_tokens=(_M3,),
)
DOTS = _tagged(
    name="dots",
    framing=Markers(
        opens=("<dots_function_call>",),
        ends=("</invoke>", "</dots_function_call>"),
        reasoning=THINK,
    ),
    engine=json_or(
        Wrapped(("<invoke",), (), replace(_INVOKE, ends_around=("<invoke",))), JsonCalls()
    ),
    writing=_invoke_writing("dots_function_call"),
    models=(r"dots",),
)
_STEP_KINDS = ("function<｜tool_sep｜>", "<｜tool_sep｜>", "function", "")
STEP3 = _tagged(
    name="step3",
    framing=Markers(
        sections=(
            "<｜tool_calls_begin｜>",
            *(f"<｜tool_call_begin｜>{kind}" for kind in _STEP_KINDS),
        ),
        opens=("<steptml:invoke",),
        ends=("</steptml:invoke>", "<｜tool_call_end｜>", "<｜tool_calls_end｜>"),
        reasoning=THINK,
    ),
    engine=Tagged(
        head="name",
        param="<steptml:parameter",
        key="name",
        close="</steptml:parameter>",
        call_close=("</steptml:invoke>",),
    ),
    writing=Writing(
        "<｜tool_call_begin｜>function<｜tool_sep｜>"
        '<steptml:invoke name="{name}">{params}</steptml:invoke><｜tool_call_end｜>',
        before="<｜tool_calls_begin｜>",
        after="<｜tool_calls_end｜>",
        param='<steptml:parameter name="{key}">{value}</steptml:parameter>',
    ),
    results=Results("{result}", role="tool", merged=False),
    models=(r"step-?3(?!\.)",),
    special_tokens=("<｜tool_calls_begin｜>", "<｜tool_call_begin｜>", "<｜tool_sep｜>"),
)
MINICPM5 = _tagged(
    name="minicpm5",
    framing=Markers(opens=("<function",), ends=("</function>",), reasoning=THINK, strict=True),
    engine=Tagged(
        head="name",
        param="<param",
        key="name",
        close="</param>",
        call_close=("</function>",),
        wrappers=("properties", "arguments"),
        glyphs=True,
    ),
    writing=Writing(
        '<function name="{name}">{params}</function>',
        between="\n",
        param='<param name="{key}">{value}</param>',
    ),
    models=(r"minicpm-?5",),
)
CLINE_XML = _tagged(
    name="cline_xml",
    framing=ToolMarkers(),
    engine=Tagged(
        param="<",
        close="</{key}>",
        call_close=("</{name}>",),
        declared=True,
        undeclared=("task_progress",),
        trim=True,
    ),
    writing=Writing(
        "<{name}>\n{params}</{name}>", between="\n", param="<{key}>\n{value}\n</{key}>\n"
    ),
    results=Results("[{name}] Result:\n{result}", between="\n\n"),
    aliases=("cline",),
    note="the tags are the names of the tools, so it reads only with the tools at hand. While the "
    "format is unknown, it is found at the start of a line, with a parameter of the tool",
)
HF = _tagged(
    name="hf",
    framing=Markers(opens=("<tool_call>",), ends=("</function>", "</tool_call>"), reasoning=THINK),
    engine=JSON_OR_FUNCTIONS,
    writing=Writing("<tool_call>\n{json}\n</tool_call>", between="\n"),
    aliases=("response_template", "minicpmv"),
    note="a checkpoint without a format of its own: JSON or tagged parameters in <tool_call>",
)
