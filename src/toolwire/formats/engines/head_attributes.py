"""Arguments as attributes of the name, in formats that write them as elements: `NAME key="value"`.

Only for a known tool and its own parameters, because the text may be anything else.
"""

import re

from toolwire.formats.arguments import values
from toolwire.formats.engines.tags import attributes
from toolwire.formats.tools.declared_tools import DeclaredTools

_ONE = r"\s{1,8}+[\w.\-]{1,64}+=(?:\"[^\"]*+\"|'[^']*+'|[^\s\"'=/]++)"
_HEAD = re.compile(rf"\s*+([^\s=\"']{{1,128}}+)((?:{_ONE})++)\s*+")


def called_in(head: str, tools: DeclaredTools) -> tuple[str, str] | None:
    """Return the tool and its arguments as JSON, if the head is such a call."""
    found = _HEAD.fullmatch(head)
    name = tools.resolve(found[1]) if found else ""
    given = attributes(found[2]) if found else {}
    if not given or not tools.known(name) or not given.keys() <= tools.properties(name).keys():
        return None
    members = (
        f"{values.quote(key)}: {values.coerce(text, tools.types(name, key))}"
        for key, text in given.items()
    )
    return name, "{" + ", ".join(members) + "}"
