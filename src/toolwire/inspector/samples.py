"""Texts to look at: what models of each format write, from the conformance kit's cases."""

from functools import lru_cache
from typing import Any

from toolwire.formats import get, names


def formats() -> list[dict[str, Any]]:
    """Every format, with the models that write it."""
    records = (get(name) for name in sorted(names()))
    return [
        {"name": one.name, "family": one.family, "models": list(one.models), "note": one.note}
        for one in records
    ]


@lru_cache(maxsize=128)
def samples_of(name: str) -> list[dict[str, Any]]:
    """The cases of a format: what they are called, the text, and the tools. Raises `KeyError`."""
    # Not at the top: serving models needs none of the kit.
    from toolwire.conformance import cases_of  # noqa: PLC0415

    return [
        {
            "name": case.scenario_name,
            "pattern": case.pattern,
            "note": case.note,
            "text": case.model_output,
            "tools": [tool["function"] for tool in case.tools],
            "calls": len(case.expected_tool_calls),
        }
        for case in cases_of(get(name).name)
        if not case.streaming_mode
    ]
