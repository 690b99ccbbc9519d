"""`<function=NAME>` with one element per parameter, shared by formats of several families."""

import re

from msgspec.structs import replace

from toolwire.formats.engines.either import Either
from toolwire.formats.engines.json_calls import JsonCalls
from toolwire.formats.engines.tagged import Tagged
from toolwire.formats.engines.tags import Spellings, spelled
from toolwire.formats.engines.wrapped import Wrapped

EQUALS: Spellings = (("=", " ="), ("=", " name="))  # `<function = x>`, `<function name="x">`
OPENS = spelled(("<function=",), EQUALS)

FUNCTION = Tagged(
    param="<parameter=",
    close="</parameter>",
    close_slips=("</param>",),
    call_close=("</function>",),
    spellings=EQUALS,
)
FUNCTION_LINES = replace(FUNCTION, trim=True)
JSON_OR_FUNCTIONS = Either(
    looks=re.compile(r"\s{0,20}+<"),
    prefix=re.compile(r"\s{0,20}+"),
    first=Wrapped(OPENS, (), replace(FUNCTION_LINES, ends_around=("<function=",))),
    second=JsonCalls(),
)
