"""Estimates what it costs to compile a client's regular expression.

`^\\p{L}{1,50}$` has thirteen characters and compiles to three megabytes, so a few kilobytes of
patterns can stop a process. Nothing is compiled or run here.
"""

import re

LONGEST = 1000
_TOKEN = re.compile(
    r"\\[pP](?:\{[^}]*\}?)?|\\.?|\[\^?\]?(?:\\.|[^\]\\])*\]?|\{(\d*),?(\d*)\}|[()]|.", re.DOTALL
)
_PROPERTY = re.compile(r"\\[pP]")
_WIDE = re.compile(r"\.|\[\^.*|.*(?:\\[WDS]|[^\x00-\x7f]).*", re.DOTALL)
_NEVER = 10**9


def pattern_cost(pattern: str) -> int:
    """Estimate the number of automaton states, in linear time. Accepts any text."""
    if len(pattern) > LONGEST:
        return _NEVER
    groups = [0]
    last = 0
    for token in _TOKEN.finditer(pattern):
        text = token[0]
        if text == "(":
            groups.append(0)
            continue
        if text == ")" and len(groups) > 1:
            last = added = groups.pop() + 1
        elif token[1] is not None:
            times = max(int(token[1] or 0), int(token[2] or 0), 1)
            added = last * (times - 1)
            last = min(last * times, _NEVER)
        else:
            last = added = _atom_cost(text)
        groups[-1] = min(groups[-1] + added, _NEVER)
    return min(sum(groups), _NEVER)


def _atom_cost(text: str) -> int:
    """The cost of one character, escape or class. A Unicode class takes hundreds of states."""
    if len(text) == 1 and text != "." and text.isascii():
        return 1
    wide = 10 if _WIDE.fullmatch(text) else 0
    return 200 * len(_PROPERTY.findall(text)) + wide + max(1, len(text) // 8)
