import re
from pathlib import Path

import pytest

from toolwire.conformance.endpoint import REACH, TrialResult, Verdict
from toolwire.doctor.diagnosis import AdvisedSetting, diagnose
from toolwire.doctor.examination import CALL, STREAMED, TALK, Examination, Observation, Setup
from toolwire.doctor.facts import ServerFacts
from toolwire.doctor.server_flags import CHECKED, CHECKED_ON, PARSERS, flags_for
from toolwire.formats import Detection, names


def seen(kind: str, *results: tuple[Setup, str, str], known: str = "") -> Examination:
    """What was seen: a check without words works, one with words fails with these."""
    form = Detection(known, "by its name") if known else None
    facts = ServerFacts("http://h/v1", "m", ("m",), kind, format=form)
    observations = [
        Observation(setup, TrialResult(n, Verdict.FAILS if d else Verdict.WORKS, d, "", 0.0))
        for setup, n, d in results
    ]
    return Examination(facts, observations)


AUTO: tuple[tuple[Setup, str, str], ...] = (("auto", CALL, ""), ("auto", STREAMED, ""))
PROMPTED: tuple[tuple[Setup, str, str], ...] = (("prompted", CALL, ""), ("prompted", STREAMED, ""))
AS_TEXT = "the call came back as text, in the format hermes"
NO_CALL = 'get_weather was not called; the answer is "Hello."'


def test_a_call_that_works_overrules_a_guess_from_token_counts() -> None:
    reach: tuple[Setup, str, str] = (
        "server",
        REACH,
        "a prompt has 7 tokens with and without tools",
    )
    found = diagnose(seen("vllm", ("server", CALL, ""), ("server", STREAMED, ""), reach))
    assert found.works
    assert "drops" not in found.cause


def test_vllm_without_a_parser_gets_its_flags() -> None:
    found = diagnose(seen("vllm", ("server", CALL, AS_TEXT), *AUTO))
    assert found.server_flags == "--enable-auto-tool-choice --tool-call-parser hermes"
    assert found.setting == AdvisedSetting("auto", "hermes")


def test_a_format_that_is_known_anyway_is_not_in_the_settings() -> None:
    found = diagnose(seen("sglang", ("server", CALL, AS_TEXT), *AUTO, known="hermes"))
    assert found.server_flags == "--tool-call-parser hermes"
    assert found.setting == AdvisedSetting("auto", "")


def test_what_was_not_seen_to_work_is_not_advised() -> None:
    found = diagnose(seen("", ("server", CALL, NO_CALL), ("auto", CALL, NO_CALL)))
    assert found.setting is None
    assert found.cause.startswith("The model does not call tools, however it is given them")


def test_a_call_that_only_comes_whole_is_no_working_mode() -> None:
    half: tuple[Setup, str, str] = ("auto", CALL, "")
    found = diagnose(seen("", ("server", CALL, NO_CALL), half, *PROMPTED))
    assert found.setting == AdvisedSetting("prompted", "")


def test_a_broken_stream_is_named() -> None:
    broken: tuple[Setup, str, str] = ("server", STREAMED, "does not end with [DONE]")
    found = diagnose(seen("", ("server", TALK, ""), ("server", CALL, ""), broken, *AUTO))
    assert found.cause == "Calls work whole but not streamed: does not end with [DONE]."


def test_a_chat_template_is_for_a_server_without_a_chat_endpoint() -> None:
    assert seen("", ("server", TALK, "HTTP 404: Not Found")).lacks_chat
    assert not seen("", ("server", TALK, "HTTP 401: wrong key")).lacks_chat
    assert not seen("", ("server", TALK, "")).lacks_chat


REFUSED = "HTTP 500: tools param requires --jinja flag"


def test_llama_cpp_is_told_to_use_jinja_only_if_it_asks_for_it() -> None:
    refused = diagnose(seen("llamacpp", ("server", CALL, REFUSED), *AUTO))
    assert refused.server_flags == "--jinja"
    dropped = diagnose(seen("llamacpp", ("server", CALL, NO_CALL), *PROMPTED, known="hermes"))
    assert dropped.server_flags == ""


@pytest.mark.parametrize("kind", PARSERS)
def test_every_parser_is_for_a_format_that_exists(kind: str) -> None:
    assert set(PARSERS[kind]) <= set(names())


def test_a_format_without_a_parser_gets_no_flags() -> None:
    assert flags_for("vllm", "minimax_m1") == "", "vLLM has dropped its parser"
    assert flags_for("vllm", "granite4").endswith("--tool-call-parser granite4")
    assert flags_for("ollama", "hermes") == ""


def test_the_page_says_against_which_releases_the_flags_were_checked() -> None:
    page = (Path(__file__).parents[3] / "docs" / "doctor.md").read_text(encoding="utf-8")
    said = " ".join(page.split())
    assert CHECKED_ON in said
    assert [name for name, version in CHECKED.items() if f"{name} {version}" not in said] == []


def test_the_page_of_vllm_names_a_parser_that_vllm_has() -> None:
    page = (Path(__file__).parents[3] / "docs" / "engines" / "vllm.md").read_text(encoding="utf-8")
    named = re.findall(r"--tool-call-parser (\w+)", page)
    assert named
    assert set(named) <= set(PARSERS["vllm"].values())
