"""Divides large fragments, so that the event loop can do other work between the parts.

To search megabytes of text for calls takes long. A model writes so much in thousands of fragments,
but a backend may send it in one.
"""

from collections.abc import Iterator, Sequence

from msgspec import structs

from toolwire.protocol.fragments import CallFragment, Fragment
from toolwire.protocol.json_boundary import is_whole_object

STEP = 64 * 1024
"""Characters that are processed at a time."""


def in_steps(fragments: Sequence[Fragment]) -> Iterator[Fragment]:
    """Yield the same fragments, large ones in parts."""
    for whole in fragments:
        choice, (text, *more) = whole.choice, _cut(whole.text)
        calls = [part for call in whole.calls for part in _divided(call)]
        if not more and len(calls) == len(whole.calls):
            yield whole
            continue
        yield Fragment(choice, text, whole.reasoning, logprobs=whole.logprobs, gap=whole.gap)
        yield from (Fragment(choice, part) for part in more)
        yield from (Fragment(choice, calls=(call,)) for call in calls)
        rest = {"text": "", "reasoning": "", "logprobs": b"", "gap": False, "calls": ()}
        yield structs.replace(whole, **rest)


def _divided(call: CallFragment) -> Iterator[CallFragment]:
    """Yield a call's delta in parts. Complete JSON is skipped quickly, and stays whole."""
    text = call.arguments
    if not isinstance(text, str) or len(text) <= STEP or is_whole_object(text):
        yield call
        return
    first, *rest = _cut(text)
    yield structs.replace(call, arguments=first)
    for part in rest:
        yield CallFragment(call.index, None, None, part, call.custom)


def _cut(text: str) -> list[str]:
    return [text[at : at + STEP] for at in range(0, len(text), STEP)] or [""]
