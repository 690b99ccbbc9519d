"""Family A: the name and the arguments are in one JSON value."""

from functools import partial

from msgspec.structs import replace

from toolwire.formats.catalog.functions import JSON_OR_FUNCTIONS
from toolwire.formats.engines.either import json_or
from toolwire.formats.engines.json_calls import JsonCalls
from toolwire.formats.engines.py_calls import PyCalls
from toolwire.formats.framing import Markers
from toolwire.formats.markers import Reasoning, thinking
from toolwire.formats.record import Format
from toolwire.formats.rendering.writing import Results, Writing

THINK = thinking()
_json = partial(Format, family="json", engine=JsonCalls())
_array = partial(Format, family="json", engine=JsonCalls(shape="array"))
_PARAMETERS = ("name", "parameters")
_NEWLINES = ("\n\n", "\n", "")
_RESPONSE = (
    "<response>\n",
    "<response>",
    "\n</response>\n",
    "\n</response>",
    "</response>\n",
    "</response>",
)


def tags(name: str, drop: tuple[str, ...] = ()) -> Markers:
    """`<name>` ... `</name>`, with `<think>` for reasoning."""
    one, many = name.removesuffix("s"), name.removesuffix("s") + "s"
    wrapped = tuple(f"<{many}>{gap}<{one}>" for gap in ("\n", "") if name == one)
    ends = (f"</{name}>", f"</{one if name == many else many}>")
    return Markers(opens=(f"<{name}>", *wrapped), ends=ends, drop=drop, reasoning=THINK)


def array(before: str, after: str = "") -> Writing:
    """Calls as one JSON array."""
    return Writing("{json}", before=f"{before}[", between=", ", after=f"]{after}")


def lines(name: str) -> Writing:
    """Each call in a pair of tags, on separate lines."""
    return Writing(f"<{name}>\n{{json}}\n</{name}>", between="\n")


def _spoken(opens: tuple[str, ...], closes: tuple[str, ...]) -> Reasoning:
    """Reasoning delimited by plain words, with the newlines around them."""
    starts = tuple(f"{words}{after}" for words in opens for after in _NEWLINES)
    ends = tuple(f"{a}{words}{b}" for words in closes for a in _NEWLINES for b in _NEWLINES)
    return Reasoning(starts, ends, frozenset((*starts, *ends)))


HERMES = _json(
    name="hermes",
    framing=tags("tool_call"),
    engine=JSON_OR_FUNCTIONS,
    writing=lines("tool_call"),
    aliases=("qwen3_json", "qwen", "qwen25", "qwen2d5", "qwen3"),
    models=(
        r"hermes-?[234]",
        r"hermes-.*(llama-3|mistral|mixtral|theta)",
        r"qwen-?2\.5(?!.*(coder|vl).*fc)",
        r"qwq",
        r"qwen-?3(?!\.[5-9]|.*coder)",
        r"mimo-vl",
        r"smollm3",
        r"reka-edge",
        r"bielik",
        r"exaone-?4",
    ),
)
GRANITE4 = _json(
    name="granite4",
    signs=(("</tool_call>", "<|start_of_role|>"),),
    framing=tags("tool_call"),
    engine=JSON_OR_FUNCTIONS,
    writing=lines("tool_call"),
    models=(r"granite-?4(\.[01])?",),
)
TRINITY = _json(
    name="trinity",
    framing=replace(tags("tool_call"), reasoning_calls="count"),
    engine=JSON_OR_FUNCTIONS,
    writing=lines("tool_call"),
    models=(r"trinity",),
)
ERNIE45 = _json(
    name="ernie45",
    framing=tags("tool_call", drop=_RESPONSE),
    engine=JSON_OR_FUNCTIONS,
    writing=lines("tool_call"),
    models=(r"ernie-?4\.5",),
)
LLAMA3_JSON = _json(
    name="llama3_json",
    signs=(("<|header_start|>", '{"name": "', '"parameters": '),),
    framing=Markers(
        opens=("<|python_tag|>",), ends=("<|eom_id|>", "<|eot_id|>", "<|eot|>"), bare=("{", "[")
    ),
    engine=json_or(PyCalls(brackets=False, known=True, suffix=".call"), JsonCalls()),
    writing=Writing("{json}", between="; ", keys=_PARAMETERS),
    results=Results('{"output": {json}}', role="ipython", merged=False, error='{"error": {json}}'),
    aliases=("llama4_json", "llama3", "llama"),
    models=(r"llama-?3\.[123]", r"meta-llama-3\.[123]"),
    template=("<|start_header_id|>", '"parameters": '),
    special_tokens=("<|python_tag|>", "<|eom_id|>"),
)
_GRANITE_SPOKEN = _spoken(
    ("Here is my thought process:", "Here's my thought process:"),
    ("Here is my response:", "Here's my response:"),
)
GRANITE = _json(
    name="granite",
    framing=Markers(
        opens=("<|tool_call|>", "<tool_call>"),
        ends=("</tool_call>",),
        drop=("<|end_of_text|>", "<|/tool_call|>", *_RESPONSE),
        reasoning=(_GRANITE_SPOKEN, *THINK),
    ),
    writing=array("<|tool_call|>"),
    results=Results("{result}", role="tool_response", merged=False),
    models=(r"granite-?3\.",),
    special_tokens=("<|tool_call|>",),
)
GRANITE_20B_FC = _json(
    name="granite-20b-fc",
    framing=Markers(
        opens=("<function_call>",), ends=("</function_call>",), drop=("<|endoftext|>",)
    ),
    engine=JsonCalls(no_call="no_function"),
    writing=Writing("<function_call> {json}", between="\n"),
    results=Results("<function_response> {result}", role="tool", merged=False),
    models=(r"granite-20b-functioncalling",),
    special_tokens=("<function_call>",),
)
JAMBA = _json(
    name="jamba",
    framing=tags("tool_calls"),
    writing=array("<tool_calls>", "</tool_calls>"),
    results=Results("{result}", role="tool", merged=False),
    models=(r"jamba",),
    special_tokens=("<tool_calls>", "</tool_calls>"),
)
HUNYUAN_A13B = _json(
    name="hunyuan_a13b",
    signs=(("<tool_calls>", "<|extra_0|>"),),
    framing=tags(
        "tool_calls", drop=("助手：", "<answer>\n", "<answer>", "\n</answer>", "</answer>")
    ),
    writing=array("<tool_calls>", "</tool_calls>"),
    results=Results("<tool_response>{result}</tool_response>", role="tool", between=""),
    models=(r"hunyuan-a13b",),
)
_APRIEL_STEPS = ("Here are my reasoning steps:\n", "Here are my reasoning steps:")
APRIEL = _json(
    name="apriel",
    signs=(("<tool_calls>", "[BEGIN FINAL RESPONSE]"),),
    framing=Markers(
        opens=("<tool_calls>",),
        ends=("</tool_calls>",),
        drop=("[END FINAL RESPONSE]", "<|end|>"),
        reasoning=(
            Reasoning(
                _APRIEL_STEPS,
                (
                    "\n[BEGIN FINAL RESPONSE]\n",
                    "[BEGIN FINAL RESPONSE]\n",
                    "[BEGIN FINAL RESPONSE]",
                ),
                frozenset(_APRIEL_STEPS),
            ),
        ),
    ),
    writing=array("<tool_calls>", "</tool_calls>"),
    results=Results("{result}", role="tool", merged=False),
    aliases=("apriel15", "apriel16"),
    models=(r"apriel",),
    ids="wire",
)
MINIMAX_M1 = _json(
    name="minimax_m1",
    signs=(("<tool_calls>", "<beginning_of_sentence>"),),
    framing=tags("tool_calls"),
    writing=Writing("{json}", before="<tool_calls>\n", between="\n", after="\n</tool_calls>"),
    results=Results("tool name={name}\ntool result: {result}", role="tool", between="\n\n"),
    aliases=("minimax",),
    models=(r"minimax-m1",),
)
NEMOTRON_DECI = _json(
    name="nemotron_deci",
    framing=tags("TOOLCALL", drop=("</TOOLCALL>",)),
    writing=array("<TOOLCALL>", "</TOOLCALL>"),
    results=Results("{json}", before="<TOOL_RESPONSE>[", between=", ", after="]</TOOL_RESPONSE>"),
    aliases=("nemotron_nano_v2",),
    models=(r"nemotron-nano.*v2", r"nemotron.*(super|ultra).*v1", r"deci.*nemotron"),
)
LAM = _json(
    name="xlam",
    signs=(('[{"name": "tool_call_name", "arguments": ',),),
    framing=Markers(
        opens=("[TOOL_CALLS]", "<tool_call>"),
        ends=("</tool_call>",),
        bare=("[", "```json"),
    ),
    engine=JsonCalls(shape="array", atomic=True),
    writing=array(""),
    results=Results("{result}", role="tool", merged=False),
    models=(r"xlam",),
)
PHI4_MINI_JSON = _array(
    name="phi4_mini_json",
    signs=(("functools[",),),
    framing=Markers(opens=("functools",)),
    writing=array("functools"),
    results=Results("{result}", role="tool", merged=False),
    aliases=("phi4",),
)
_PHI4_TOKENS = ("<|tool_call|>", "<|/tool_call|>")
PHI4_MINI = _json(
    name="phi4_mini",
    framing=Markers(
        opens=("<|tool_call|>", "functools"),
        ends=("<|/tool_call|>", "</|tool_call|>"),
        drop=("<|end|>",),
    ),
    writing=array(*_PHI4_TOKENS),
    results=Results("<|tool_response|>{result}", role="tool", merged=False),
    models=(r"phi-?4-mini",),
    signs=(_PHI4_TOKENS, ("<|tool|>", "<|/tool|>")),
    special_tokens=_PHI4_TOKENS,
)
_HYPERCLOVA_NEXT = "<|im_end|>\n<|im_start|>assistant"
HYPERCLOVA = _json(
    name="hyperclovax",
    framing=Markers(
        opens=tuple(
            f"{lead}-> tool/function_call{end}" for lead in (" ", "") for end in ("\n", "\r\n")
        ),
        ends=("<|im_end|>",),
        drop=(
            f"{_HYPERCLOVA_NEXT}\n",
            _HYPERCLOVA_NEXT,
            "<|im_end|>",
            "<|endofturn|>",
            "<|stop|>",
        ),
        reasoning=(
            Reasoning(
                ("/think\n",),
                (f"{_HYPERCLOVA_NEXT}\n", _HYPERCLOVA_NEXT),
                frozenset(("/think\n",)),
            ),
        ),
    ),
    writing=array(" -> tool/function_call\n", "<|im_end|>"),
    results=Results("{result}", role="tool", merged=False),
    aliases=("hyperclovax_seed_think_14b",),
    models=(r"hyperclova-?x",),
    signs=(("-> tool/function_call",),),
    special_tokens=("<|im_end|>", "<|im_start|>"),
)
FIREFUNCTION_V2 = _array(
    name="firefunction_v2",
    signs=((" functools[", "<|start_header_id|>"),),
    framing=Markers(opens=(" functools", "functools")),
    writing=array(" functools"),
    results=Results("{result}", role="tool", merged=False),
    aliases=("firefunction",),
    models=(r"firefunction",),
)
APERTUS = _json(
    name="apertus",
    framing=Markers(
        opens=("<|tools_prefix|>",),
        ends=("<|tools_suffix|>",),
        drop=("<|assistant_end|>",),
        reasoning=(Reasoning(("<|inner_prefix|>",), ("<|inner_suffix|>",)),),
    ),
    engine=JsonCalls(name_is_key=True),
    writing=Writing(
        "{{qname}: {args}}",
        before="<|tools_prefix|>[",
        between=", ",
        after="]<|tools_suffix|>",
    ),
    results=Results("{json}", role="assistant", before="[", between=", ", after="]"),
    aliases=("apertus2509",),
    models=(r"apertus",),
    special_tokens=("<|tools_prefix|>", "<|tools_suffix|>"),
)
INTERNLM = _json(
    name="internlm",
    framing=Markers(
        opens=tuple(f"<|action_start|>{space}<|plugin|>" for space in ("", " ", "\n")),
        ends=("<|action_end|>",),
        reasoning=THINK,
    ),
    writing=Writing(
        "<|action_start|><|plugin|>\n{json}<|action_end|>", between="\n", keys=_PARAMETERS
    ),
    results=Results("{result}", role="environment", merged=False),
    aliases=("interns1", "intern-s1"),
    models=(r"internlm", r"intern-?s1"),
    special_tokens=("<|action_start|>", "<|plugin|>", "<|action_end|>"),
)
_CITATIONS = ("<co", "</co")
_COHERE_RESULTS = Results(
    '{"tool_call_id": "{index}", "results": {"0": {"content": {json}}}, "is_error": null}',
    role="system",
    before="<|START_TOOL_RESULT|>[",
    between=", ",
    after="]<|END_TOOL_RESULT|>",
    error='{"tool_call_id": "{index}", "results": {"0": {"content": {json}}}, "is_error": true}',
)
_COHERE = Markers(
    opens=("<|START_ACTION|>",),
    ends=("<|END_ACTION|>",),
    drop=(
        "<|START_RESPONSE|>",
        "<|END_RESPONSE|>",
        "<|START_TEXT|>",
        "<|END_TEXT|>",
        "<|END_OF_TURN_TOKEN|>",
    ),
    citations=_CITATIONS,
    reasoning=(Reasoning(("<|START_THINKING|>",), ("<|END_THINKING|>", "<|END_THINKING|>\n")),),
)
_COHERE_WRITING = Writing(
    '    {"tool_call_id": "{index}", "tool_name": {qname}, "parameters": {args}}',
    before="<|START_ACTION|>[\n",
    between=",\n",
    after="\n]<|END_ACTION|>",
)
_cohere = partial(
    _json,
    framing=_COHERE,
    writing=_COHERE_WRITING,
    results=_COHERE_RESULTS,
    special_tokens=(*_COHERE.opens, *_COHERE.ends, *_COHERE.drop),
    ids="wire",
)
COHERE_COMMAND3 = _cohere(
    name="cohere_command3",
    signs=(("<|START_ACTION|>", "<|START_RESPONSE|>"),),
    aliases=("cohere",),
    models=(r"command-?r7b", r"command-a(?!-?plus)", r"c4ai-command-a"),
)
COHERE_COMMAND4 = _cohere(
    name="cohere_command4",
    signs=(("<|START_ACTION|>", "<|START_TEXT|>"),),
    aliases=("cohere2moe",),
    models=(r"command-a-?plus", r"command-?4"),
)
COMMAND_R_PLUS = _json(
    name="command_r_plus",
    signs=(
        ("Action:\\n```json", "<|START_OF_TURN_TOKEN|>"),
        ("Action:\n```json", "<|START_OF_TURN_TOKEN|>"),
    ),
    framing=Markers(
        opens=tuple(
            f"Action:{gap}```{language}"
            for gap in ("\n", " ", "", " \n", "\n\n", "\r\n")
            for language in ("json", "")
        ),
        ends=("```",),
        drop=("<|START_OF_TURN_TOKEN|>", "<|CHATBOT_TOKEN|>", "<|END_OF_TURN_TOKEN|>"),
        citations=_CITATIONS,
    ),
    writing=Writing(
        '    {"tool_name": {qname}, "parameters": {args}}',
        before="Action:\n```json\n[\n",
        between=",\n",
        after="\n]\n```",
    ),
    results=Results("{result}", role="system", before="<results>\n", after="\n</results>"),
    engine=JsonCalls(no_call="directly_answer"),
    models=(r"command-r(?!7b)",),
)
GIGACHAT3 = _json(
    name="gigachat3",
    signs=(("<|message_sep|>", "<|role_sep|>", "function call"),),
    framing=Markers(
        opens=(
            "<|message_sep|>\n\nfunction call<|role_sep|>",
            "<|message_sep|>\nfunction call<|role_sep|>",
            "function call<|role_sep|>",
            "<|function_call|>",
        ),
        drop=("</s>", "<|message_sep|>"),
    ),
    writing=Writing("<|function_call|>{json}"),
    results=Results("{result}", role="function result", merged=False),
    models=(r"gigachat-?3(?!\.5)",),
    special_tokens=("<|message_sep|>", "<|role_sep|>", "<|function_call|>"),
)
SARASHINA = _json(
    name="sarashina",
    framing=Markers(opens=("<|tool_calls|>",), bare=("[",)),
    writing=array("<|tool_calls|>"),
    results=Results("{result}", role="tool", merged=False),
    models=(r"sarashina",),
    special_tokens=("<|tool_calls|>",),
)
JSON = _json(
    name="json",
    framing=Markers(bare=("[", "{")),
    writing=Writing("{json}", before="[", between=", ", after="]", keys=_PARAMETERS),
    aliases=("default", "bare_json", "passthrough_json"),
    note="what guided decoding answers in, whatever the model",
)
GENERIC = _json(
    name="generic",
    framing=Markers(bare=("{",)),
    engine=JsonCalls(answer_key="response"),
    writing=Writing("{json}", before='{"tool_calls": [', between=", ", after="]}"),
    note="an answer under a grammar: a call, calls, or a response",
)
