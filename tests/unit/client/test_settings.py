"""Where a client's requests go, and with which key."""

import pytest

from toolwire.client.errors import ConfigurationError
from toolwire.client.settings import LOCAL, OPENAI, find_settings

OURS = {"TOOLWIRE_BASE_URL": "http://ours/v1/", "TOOLWIRE_API_KEY": "tw"}
THEIRS = {"OPENAI_BASE_URL": "http://theirs/v1", "OPENAI_API_KEY": "sk"}


def found(env: dict[str, str], **given: str) -> tuple[str, str | None]:
    settings = find_settings(env, **given)  # type: ignore[arg-type]
    return settings.base_url, settings.api_key


def test_without_anything_it_is_toolwire_on_this_machine() -> None:
    assert found({}) == (LOCAL, None)


def test_an_openai_key_alone_means_openai() -> None:
    assert found({"OPENAI_API_KEY": "sk"}) == (OPENAI, "sk")


def test_toolwires_variables_come_before_openais() -> None:
    assert found({**OURS, **THEIRS}) == ("http://ours/v1", "tw")
    assert found(THEIRS) == ("http://theirs/v1", "sk")


def test_arguments_come_before_variables() -> None:
    assert found({**OURS, **THEIRS}, base_url="http://x/v1", api_key="k") == ("http://x/v1", "k")


def test_openais_key_is_not_sent_to_a_server_that_only_toolwires_variable_names() -> None:
    env = {"TOOLWIRE_BASE_URL": "http://ours/v1", "OPENAI_API_KEY": "sk"}
    assert found(env) == ("http://ours/v1", None)
    assert found(env, base_url="http://chosen/v1") == ("http://chosen/v1", "sk")


def test_an_empty_key_means_no_key() -> None:
    assert "authorization" not in find_settings(THEIRS, api_key="").request_headers()


def test_a_url_without_a_scheme_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="'localhost:8181' is not a URL"):
        find_settings({}, base_url="localhost:8181")


def test_a_password_in_the_url_is_not_shown() -> None:
    assert find_settings({}, base_url="http://me:pw@host/v1").shown_url == "http://host/v1"


def test_the_key_is_not_shown() -> None:
    assert "secret" not in repr(find_settings({}, api_key="secret"))


def test_headers_can_be_added_and_replaced() -> None:
    headers = find_settings({}, headers={"User-Agent": "mine", "X-Team": "a"}).request_headers()
    assert headers["user-agent"] == "mine"
    assert headers["x-team"] == "a"
