"""What is done differently for particular clients."""

from typing import Any

import pytest
from tests.contract.messaging import HELLO, TOOL, asked

from toolwire.surfaces.messages.profiles import fitted
from toolwire.surfaces.profiles import PLAIN, Profile, profile_for

CLAUDE_CODE = profile_for("", "claude_code")

SUMMARIZE = {
    "role": "user",
    "content": "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.\n\nYour task is to ...",
}


def test_claude_code_is_known_by_its_user_agent() -> None:
    assert profile_for("claude-cli/2.1.325 (external, sdk-cli)").name == "claude_code"
    assert profile_for("Anthropic/Python 2.8.0") is PLAIN


def test_a_summary_for_claude_code_cannot_be_a_call() -> None:
    request = fitted(asked(messages=[SUMMARIZE], tools=[TOOL]), CLAUDE_CODE).request
    assert request.choice.mode == "none"
    assert request.adjusted == ("tool_choice",)


@pytest.mark.parametrize(
    ("message", "profile"), [(HELLO[0], CLAUDE_CODE), (SUMMARIZE, PLAIN)], ids=["task", "other"]
)
def test_nothing_else_is_changed(message: dict[str, Any], profile: Profile) -> None:
    made = asked(messages=[message], tools=[TOOL])
    assert fitted(made, profile) is made
