"""Family B: the name is in a header, followed by the arguments as JSON."""

import re
from functools import partial

from toolwire.formats.catalog.heads import IdBefore, IdBehind, NumberedName, TypeBefore
from toolwire.formats.catalog.json_family import THINK
from toolwire.formats.catalog.routes import by_name, by_tool
from toolwire.formats.channels import Channels
from toolwire.formats.engines.either import Either, json_or
from toolwire.formats.engines.head_json import HeadJson
from toolwire.formats.engines.json_calls import JsonCalls
from toolwire.formats.engines.raw_body import RawBody
from toolwire.formats.engines.tags import spelled
from toolwire.formats.framing import Markers
from toolwire.formats.markers import Reasoning
from toolwire.formats.record import Format
from toolwire.formats.rendering.writing import Results, Writing

_head = partial(Format, family="header")

_MISTRAL_THINK = (Reasoning(("[THINK]",), ("[/THINK]",)), *THINK)
_mistral = partial(
    _head,
    framing=Markers(
        opens=("[TOOL_CALLS]",),
        ends=("[/TOOL_CALLS]",),
        drop=("</s>",),
        reasoning=_MISTRAL_THINK,
    ),
    engine=json_or(
        HeadJson(separators=("[ARGS]",), head=IdBehind("[CALL_ID]"), brace=True), JsonCalls()
    ),
    special_tokens=("[TOOL_CALLS]", "[ARGS]", "[CALL_ID]", "[THINK]", "[/THINK]"),
    ids="mistral9",
)
# Each generation of Mistral's tokenizers writes calls and results differently.
MISTRAL = _mistral(
    name="mistral",
    signs=(("[TOOL_CALLS]", "[ARGS]", "[TOOL_CONTENT]"),),
    writing=Writing("[TOOL_CALLS]{name}[ARGS]{args}"),
    results=Results("[TOOL_RESULTS]{result}[/TOOL_RESULTS]", role="tool", merged=False),
    aliases=("mistral_v13",),
    models=(
        r"mistral-small-?3\.[3-9]",
        r"mistral-small-2[56]",
        r"devstral",
        r"magistral",
        r"ministral-?3",
        r"mistral-(medium|large)-?(3|2[56])",
    ),
)
_mistral_array = partial(
    _mistral,
    writing=Writing(
        '{"name": {qname}, "arguments": {args}, "id": {qid}}',
        before="[TOOL_CALLS][",
        between=", ",
        after="]",
    ),
)
MISTRAL_V3 = _mistral_array(
    name="mistral_v3",
    results=Results(
        '[TOOL_RESULTS]{"content": {value}, "call_id": {qid}}[/TOOL_RESULTS]',
        role="tool",
        merged=False,
    ),
    models=(
        r"mistral-7b.*v0\.3",
        r"mixtral",
        r"mistral-nemo",
        r"mistral-large-2[34]",
        r"mistral",
        r"ministral",
    ),
)
_MISTRAL_ID_RESULTS = Results(
    "[TOOL_RESULTS]{id}[TOOL_CONTENT]{result}[/TOOL_RESULTS]", role="tool", merged=False
)
MISTRAL_V7 = _mistral_array(
    name="mistral_v7",
    signs=(("[TOOL_CALLS]", "[TOOL_CONTENT]"),),
    results=_MISTRAL_ID_RESULTS,
    models=(
        r"mistral-small-?3\.[01]",
        r"mistral-small-(24b-instruct-)?250[1-5]",
        r"mistral-large-(instruct-)?2411",
        r"pixtral-large",
    ),
)
MISTRAL_SMALL_32 = _mistral(
    name="mistral_call_id",
    signs=(
        ("[TOOL_CALLS]", "[CALL_ID]", "[ARGS]"),
        ("[TOOL_CALLS]", "[CALL_ID]", "[ARGS]", "[TOOL_CONTENT]"),
    ),
    writing=Writing("[TOOL_CALLS]{name}[CALL_ID]{id}[ARGS]{args}"),
    results=_MISTRAL_ID_RESULTS,
    aliases=("mistral_v11",),
    models=(r"mistral-small-?3\.2", r"mistral-small-2506"),
)

_bars = partial(spelled, spellings=(("｜", "|"),))
_BEGIN, _CALL = "<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>"
_ENDS = ("<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>", "<｜end▁of▁sentence｜>")
_SEP = "<｜tool▁sep｜>"
_DEEPSEEK_CALLS = HeadJson(brace=True, head=TypeBefore(_bars((_SEP,))))
_DEEPSEEK = Markers(
    sections=_bars((_BEGIN, "<｜tool▁calls｜>")),  # distilled models shorten it
    opens=_bars((_CALL,)),
    ends=_bars(_ENDS),
    reasoning=THINK,
    inside=_DEEPSEEK_CALLS,
    unopened=("function",),
)
_deepseek = partial(
    _head,
    framing=_DEEPSEEK,
    engine=_DEEPSEEK_CALLS,
    special_tokens=(_BEGIN, _CALL, _SEP, *_ENDS),
)
DEEPSEEK_V3 = _deepseek(
    name="deepseek_v3",
    writing=Writing(
        f"<｜tool▁call▁begin｜>function{_SEP}{{name}}\n```json\n{{args}}\n```<｜tool▁call▁end｜>",
        before="<｜tool▁calls▁begin｜>",
        between="\n",
        after="<｜tool▁calls▁end｜>",
    ),
    results=Results(
        "<｜tool▁output▁begin｜>{result}<｜tool▁output▁end｜>",
        role="tool",
        before="<｜tool▁outputs▁begin｜>",
        after="<｜tool▁outputs▁end｜>",
    ),
    aliases=("deepseekv3", "deepseek"),
    models=(r"deepseek-(chat-)?v3(?!\.|-?[123]\b)", r"deepseek-v3-0324", r"deepseek-r1"),
)
DEEPSEEK_V31 = _deepseek(
    name="deepseek_v31",
    writing=Writing(
        f"<｜tool▁call▁begin｜>{{name}}{_SEP}{{args}}<｜tool▁call▁end｜>",
        before="<｜tool▁calls▁begin｜>",
        after="<｜tool▁calls▁end｜>",
    ),
    results=Results(
        "<｜tool▁output▁begin｜>{result}<｜tool▁output▁end｜>", role="tool", between=""
    ),
    aliases=("deepseek_v3_1", "deepseekv31", "deepseek31"),
    models=(r"deepseek-(chat-)?v3\.1", r"deepseek-v3\.2-exp"),
)
_KIMI_CALLS = HeadJson(
    separators=("<|tool_call_argument_begin|>",), brace=True, head=NumberedName()
)
KIMI_K2 = _head(
    name="kimi_k2",
    framing=Markers(
        sections=("<|tool_calls_section_begin|>", "<|tool_call_section_begin|>"),
        opens=("<|tool_call_begin|>",),
        ends=(
            "<|tool_call_end|>",
            "<|tool_calls_section_end|>",
            "<|tool_call_section_end|>",
            "<|im_end|>",
        ),
        reasoning=THINK,
        inside=_KIMI_CALLS,
        unopened=("functions.",),
    ),
    engine=_KIMI_CALLS,
    writing=Writing(
        "<|tool_call_begin|>{id}<|tool_call_argument_begin|>{args}<|tool_call_end|>",
        before="<|tool_calls_section_begin|>",
        after="<|tool_calls_section_end|>",
    ),
    results=Results("## Return of {id}\n{result}", role="tool", merged=False),
    aliases=("kimik2", "kimi-k2", "kimi"),
    models=(r"kimi-?k2", r"kimi-dev"),
    special_tokens=(
        "<|tool_calls_section_begin|>",
        "<|tool_call_begin|>",
        "<|tool_call_argument_begin|>",
        "<|tool_call_end|>",
        "<|tool_calls_section_end|>",
    ),
    ids="kimi",
)


def _plamo(name: str) -> str:
    return f"<|plamo:{name}:plamo|>"


PLAMO3 = _head(
    name="plamo3",
    framing=Markers(
        sections=(_plamo("begin_tool_requests"), _plamo("begin_tool_request")),
        opens=(_plamo("begin_tool_name"),),
        ends=(
            _plamo("end_tool_arguments"),
            _plamo("end_tool_request"),
            _plamo("end_tool_requests"),
        ),
        reasoning=(Reasoning((_plamo("begin_think"),), (_plamo("end_think"),)),),
    ),
    engine=HeadJson(
        separators=(
            _plamo("end_tool_name")
            + _plamo("begin_tool_arguments")
            + "<|plamo:constrain|>json<|plamo:msg|>",
            _plamo("end_tool_name") + _plamo("begin_tool_arguments") + "<|plamo:msg|>",
            _plamo("end_tool_name") + _plamo("begin_tool_arguments"),
        )
    ),
    writing=Writing(
        _plamo("begin_tool_request")
        + _plamo("begin_tool_name")
        + "{name}"
        + _plamo("end_tool_name")
        + _plamo("begin_tool_arguments")
        + "<|plamo:constrain|>json<|plamo:msg|>{args}"
        + _plamo("end_tool_arguments")
        + _plamo("end_tool_request"),
        before=_plamo("begin_tool_requests"),
        after=_plamo("end_tool_requests"),
    ),
    results=Results("{result}", role="tool", merged=False),
    models=(r"plamo-?3",),
)
SOLAR_OPEN = _head(
    name="solar_open",
    framing=Markers(
        sections=("<|begin|>assistant<|tool_calls|>", "<|tool_calls|>"),
        opens=("<|tool_call:begin|>",),
        ends=("<|tool_call:end|>", "<|calls|>"),
        drop=("<|begin|>assistant<|content|>", "<|content|>", "<|end|>"),
        reasoning=(Reasoning(("<|begin|>assistant<|think|>", "<|think|>"), ("<|end|>",)),),
    ),
    engine=HeadJson(separators=("<|tool_call:args|>",), head=IdBefore("<|tool_call:name|>")),
    writing=Writing(
        "<|tool_call:begin|>{id}<|tool_call:name|>{name}<|tool_call:args|>{args}<|tool_call:end|>",
        before="<|tool_calls|>",
        after="<|calls|>",
    ),
    results=Results(
        "<|tool_response:begin|>{id}<|tool_response:name|>{name}"
        "<|tool_response:result|>{result}<|tool_response:end|>",
        role="tool",
        before="<|tool_response|>",
        between="",
    ),
    aliases=("solar",),
    models=(r"solar-open",),
    special_tokens=("<|tool_calls|>", "<|tool_call:begin|>", "<|tool_call:end|>", "<|calls|>"),
    ids="wire",
)
FUNCTIONARY_V31 = _head(
    name="functionary_v31",
    framing=Markers(
        opens=("<function=", '<function="'),
        ends=("</function>", "></function>", "<function>", "<|eom_id|>", "<|eot_id|>"),
    ),
    engine=HeadJson(separators=(">", '">', ","), brace=True),  # Llama often omits the bracket
    writing=Writing("<function={name}>{args}</function>"),
    results=Results("{result}", role="ipython", merged=False),
    models=(r"functionary.*v3\.1",),
    special_tokens=("<|eom_id|>",),
)
_GLM_ENDS = ("<|observation|>", "<|user|>", "<|endoftext|>")
GLM4_0414 = _head(
    name="glm4_0414",
    framing=Channels(
        starts=("<|assistant|>", ">>>"),  # Functionary's: they look alike up to the second call
        inner=("<think>\n", "<think>\r\n"),
        header_ends=("\n",),
        message_ends=("</think>", *_GLM_ENDS),
        first=("\n",),
        named="\n",
        route=by_tool,
        quotable=("<|assistant|>",),  # begins every answer, so explanations of the format quote it
    ),
    engine=HeadJson(),
    writing=Writing("<|assistant|>{name}\n{args}"),
    results=Results("{result}", role="observation", merged=False),
    aliases=("glm4", "chatglm"),
    models=(r"glm-?4-(9b|32b)", r"glm-?z1", r"glm-?4-0414", r"chatglm"),
    template=("[gMASK]<sop>", "<|observation|>"),
    special_tokens=("<|assistant|>", *_GLM_ENDS),
)
REACT = _head(
    name="react",
    framing=Markers(
        opens=("Action: ", "Action:", "Action : ", "**Action:** ", "**Action:**", "**Action**: "),
        strict=True,
        reasoning=THINK,
    ),
    engine=Either(
        looks=re.compile(r"\s{0,20}+(?:\{|`{3})"),  # both in one object, as LangChain asks for
        prefix=re.compile(r"\s{0,20}+`{0,2}+"),
        first=JsonCalls(),
        second=HeadJson(
            separators=(
                "Action Input: ",
                "Action Input:",
                "Action Input : ",
                "**Action Input:** ",
                "**Action Input:**",
                "**Action Input**: ",
                "Action input: ",
                "Action input:",
            )
        ),
    ),
    writing=Writing("Action: {name}\nAction Input: {args}", between="\n"),
    results=Results("Observation: {result}", between="\n"),
    note="what ReAct prompts teach, whatever the model",
)
FUNCTIONARY_V32 = _head(
    name="functionary_v32",
    signs=((">>>all\\n",), (">>>all\n",)),
    framing=Channels(
        starts=(">>>",),
        header_ends=("\n",),
        message_ends=("<|eom_id|>", "<|eot_id|>"),
        first=("all\n", "all\r\n"),
        named="\n",
        route=by_name,
    ),
    engine=HeadJson(raw=RawBody("code")),
    writing=Writing(">>>{name}\n{args}"),
    results=Results("{result}", role="tool", merged=False),
    aliases=("functionary",),
    models=(r"functionary",),
)
