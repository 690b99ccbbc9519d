import pytest

from toolwire.conformance import (
    DeltaFunctionCall,
    DeltaMessage,
    DeltaToolCall,
    InvalidEntity,
    InvalidStream,
    StreamingToolReconstructor,
)


def begin(index: int, name: str = "get_time", call_id: str = "") -> DeltaMessage:
    function = DeltaFunctionCall(name=name)
    return message(DeltaToolCall(index, call_id or f"call_{index}", "function", function))


def more(index: int, arguments: str) -> DeltaMessage:
    return message(DeltaToolCall(index, function=DeltaFunctionCall(arguments=arguments)))


def message(piece: DeltaToolCall) -> DeltaMessage:
    return DeltaMessage(tool_calls=(piece,))


def rebuilt(*deltas: DeltaMessage) -> StreamingToolReconstructor:
    reconstructor = StreamingToolReconstructor()
    for delta in deltas:
        reconstructor.append_delta(delta)
    return reconstructor


def test_pieces_become_calls_text_and_reasoning() -> None:
    whole = rebuilt(
        DeltaMessage(reasoning="h"),
        DeltaMessage(reasoning="m"),
        DeltaMessage(content="a"),
        begin(0),
        more(0, '{"tz"'),
        more(0, ': "CET"}'),
        begin(1, "refresh"),
        DeltaMessage(content="b"),
    )
    assert (whole.reasoning, whole.other_content) == ("hm", "ab")
    found = [(c.id, c.function.name, c.function.arguments) for c in whole.tool_calls]
    assert found == [("call_0", "get_time", '{"tz": "CET"}'), ("call_1", "refresh", "")]


def test_one_delta_may_hold_several_pieces() -> None:
    first = DeltaToolCall(0, "a", "function", DeltaFunctionCall("refresh", "{}"))
    second = DeltaToolCall(1, "b", "function", DeltaFunctionCall("refresh", "{}"))
    assert len(rebuilt(DeltaMessage(tool_calls=(first, second))).tool_calls) == 2


def test_an_index_that_is_skipped_is_found() -> None:
    with pytest.raises(InvalidStream, match="index 2 came when 1 would be next"):
        rebuilt(begin(0), begin(2))


def test_a_first_index_that_is_not_0_is_found() -> None:
    with pytest.raises(InvalidStream, match="index 1 came when 0"):
        rebuilt(begin(1))


def test_an_id_that_is_sent_twice_is_found() -> None:
    again = message(DeltaToolCall(0, "call_0", function=DeltaFunctionCall(arguments="{}")))
    with pytest.raises(InvalidStream, match="the id of call 0 was sent again"):
        rebuilt(begin(0), again)


def test_a_type_that_is_sent_twice_is_found() -> None:
    with pytest.raises(InvalidStream, match="the type of call 0 was sent again"):
        rebuilt(begin(0), message(DeltaToolCall(0, type="function")))


def test_a_name_that_is_sent_twice_is_found() -> None:
    again = message(DeltaToolCall(0, function=DeltaFunctionCall(name="get_time")))
    with pytest.raises(InvalidStream, match="the name of call 0 was sent again, as 'get_time'"):
        rebuilt(begin(0), again)


@pytest.mark.parametrize(
    ("piece", "missing"),
    [
        (DeltaToolCall(0, None, "function", DeltaFunctionCall("x")), "no id"),
        (DeltaToolCall(0, "a", None, DeltaFunctionCall("x")), "no type"),
        (DeltaToolCall(0, "a", "function"), "no name"),
        (DeltaToolCall(0), "no id and no type and no name"),
    ],
)
def test_a_first_piece_without_its_particulars_is_found(piece: DeltaToolCall, missing: str) -> None:
    with pytest.raises(InvalidStream, match=f"call 0 has {missing}"):
        rebuilt(message(piece))


def test_an_id_that_two_calls_share_is_found() -> None:
    with pytest.raises(InvalidStream, match="calls 0 and 1 have one id, 'same'"):
        rebuilt(begin(0, call_id="same"), begin(1, call_id="same"))


def test_arguments_for_an_earlier_call_are_found() -> None:
    with pytest.raises(InvalidStream, match="call 0 went on after call 1 had begun"):
        rebuilt(begin(0), begin(1), more(0, "{}"))


def test_empty_repetitions_are_harmless() -> None:
    empty = message(DeltaToolCall(0, "", None, DeltaFunctionCall("", "")))
    assert len(rebuilt(begin(0), empty, more(0, "{}")).tool_calls) == 1


def test_a_call_that_is_not_complete_is_no_call_yet() -> None:
    half = rebuilt(begin(0), more(0, '{"tz": '))
    with pytest.raises(InvalidEntity, match="not JSON"):
        _ = half.tool_calls
    assert half.partial_calls[0].arguments == '{"tz": '
