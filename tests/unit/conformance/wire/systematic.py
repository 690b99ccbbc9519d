"""Every format's wire, and every case that is written by rule."""

from tests.unit.conformance.wire import json_wires, tagged_wires
from tests.unit.conformance.wire.markdown import markdown
from tests.unit.conformance.wire.scenarios import Case, around, case_of, plain, words
from tests.unit.conformance.wire.slips import SLIPS
from tests.unit.conformance.wire.special import WRITERS
from tests.unit.conformance.wire.wire import Wire

WIRES: tuple[Wire, ...] = (
    *json_wires.OBJECTS,
    *json_wires.ARRAYS,
    *json_wires.HEADERS,
    *json_wires.MESSAGES,
    *tagged_wires.PYTHON,
    *tagged_wires.TAGGED,
    tagged_wires.KIMI_K3,
    *tagged_wires.MESSAGES,
    *tagged_wires.LAX,
)


def systematic_cases(wire: Wire) -> list[Case]:
    """The cases of one format, by pattern."""
    scenarios = [*plain(), *around(wire)]
    if wire.by_schema or wire.value_closer:
        scenarios.append(words())
    cases = [case_of(scenario, wire) for scenario in scenarios]
    cases += [case for write in (*WRITERS, *SLIPS, markdown) for case in write(wire)]
    return sorted(cases, key=lambda case: case["pattern"])
