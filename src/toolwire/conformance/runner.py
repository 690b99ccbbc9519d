"""Runs cases on a parser, whole and streamed in every split, and reports what went wrong."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial

from toolwire.conformance.adapter import Adapter
from toolwire.conformance.calls import ExtractedToolCallInformation
from toolwire.conformance.case import State, TestCase
from toolwire.conformance.compare import ContentRule, differences
from toolwire.conformance.cuts import cuttings
from toolwire.conformance.deltas import DeltaMessage
from toolwire.conformance.faults import InvalidEntity, InvalidStream
from toolwire.conformance.reconstructor import StreamingToolReconstructor


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a run. `xfail` are names of cases that may fail; `*` is a wildcard."""

    content: ContentRule = "exact"
    xfail: tuple[str, ...] = ()

    def expects_failure(self, case: TestCase) -> bool:
        """Whether `xfail` lists this case, with or without `:stream`."""
        names = (case.name, case.name.removesuffix(":stream"))
        return any(fnmatchcase(name, entry) for entry in self.xfail for name in names)


@dataclass(frozen=True, slots=True)
class Outcome:
    """A finished case, and its problems. `surprise`: it was expected to fail."""

    case: TestCase
    problems: tuple[str, ...] = ()
    surprise: bool = False


EXACT = Options()


def applicable(adapter: Adapter, cases: Iterable[TestCase]) -> list[TestCase]:
    """Return the cases that apply to a parser: those with reasoning only if it supports that."""
    reads = getattr(adapter, "reads_reasoning", False)
    return [case for case in cases if reads or case.expected_reasoning is None]


def run_cases(
    adapter: Adapter, cases: Iterable[TestCase], options: Options = EXACT
) -> Iterator[Outcome]:
    """Run cases in order."""
    return (run_case(adapter, case, options) for case in cases)


def run_case(adapter: Adapter, case: TestCase, options: Options = EXACT) -> Outcome:
    """Run one case."""
    judge = _judge_stream if case.streaming_mode else _judge_whole
    problems = _survive(partial(judge, adapter, case, options))
    executed = case.moved_to(State.EXECUTED)
    expected = options.expects_failure(case)
    if not problems:
        return Outcome(executed.moved_to(State.PASSED), surprise=expected)
    state = State.XFAILED if expected else State.FAILED
    return Outcome(executed.moved_to(state), tuple(problems))


def _survive(judge: Callable[[], list[str]]) -> list[str]:
    try:
        return judge()
    except (InvalidStream, InvalidEntity) as error:
        return [str(error)]
    except Exception as error:  # noqa: BLE001 - a foreign parser may raise anything; it must not
        return [f"the parser raised {type(error).__name__}: {error}"]


def _judge_whole(adapter: Adapter, case: TestCase, options: Options) -> list[str]:
    found = adapter.extract(case.model_output, case.tools)
    if not isinstance(found, ExtractedToolCallInformation):
        return [f"extract gave {type(found).__name__}, not ExtractedToolCallInformation"]
    return differences(case, found.tool_calls, found.content, found.reasoning, rule=options.content)


def _judge_stream(adapter: Adapter, case: TestCase, options: Options) -> list[str]:
    """Return the problems of the first split that has any."""
    for how, pieces in cuttings(case):
        problems = _survive(partial(_judge_pieces, adapter, case, options, pieces))
        if problems:
            return [f"{how}: {problem}" for problem in problems]
    if case.live and not getattr(adapter, "holds_calls", False):
        return _survive(partial(_judge_liveness, adapter, case))
    return []


def _judge_pieces(
    adapter: Adapter, case: TestCase, options: Options, pieces: Iterable[str]
) -> list[str]:
    rebuilt = StreamingToolReconstructor()
    stream = adapter.stream(case.tools)
    for piece in pieces:
        _append(rebuilt, stream.feed(piece))
    _append(rebuilt, stream.finish())
    if case.malformed and rebuilt.partial_calls:
        return _judge_broken(case, rebuilt)
    return differences(
        case, rebuilt.tool_calls, rebuilt.other_content, rebuilt.reasoning, rule=options.content
    )


def _judge_liveness(adapter: Adapter, case: TestCase) -> list[str]:
    """Check that arguments arrive before half of a long call has been fed."""
    rebuilt = StreamingToolReconstructor()
    stream = adapter.stream(case.tools)
    for character in case.model_output[: len(case.model_output) // 2]:
        _append(rebuilt, stream.feed(character))
    if any(call.arguments for call in rebuilt.partial_calls):
        return []
    return ["half of the text is read, and no piece of the arguments has come"]


def _append(rebuilt: StreamingToolReconstructor, deltas: Iterable[DeltaMessage]) -> None:
    for delta in deltas:
        rebuilt.append_delta(delta)


def _judge_broken(case: TestCase, rebuilt: StreamingToolReconstructor) -> list[str]:
    """Check a truncated call: live delivery cannot undo it, but must not complete it."""
    last = rebuilt.partial_calls[-1]
    more = len(rebuilt.partial_calls) > len(case.expected_tool_calls)
    if case.cut and more and _is_whole(last.arguments):
        return [f"the call of {last.name} was cut off, but delivered as if it were whole"]
    return []


def _is_whole(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments), dict)
    except ValueError:
        return False
