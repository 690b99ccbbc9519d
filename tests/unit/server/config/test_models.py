"""A backend's chat template: read with the configuration, so that what is wrong is said at once."""

from pathlib import Path
from typing import Any

import pytest

from toolwire.server.config.loader import Config, ConfigError, load

TEMPLATE = "{% for m in messages %}<|im_start|>{{ m.content }}{% endfor %}"
MODEL = '[[models]]\nname = "m"\nbackend = { url = "http://h/v1", chat_template = %s }\n'


def load_text(folder: Path, text: str, **flags: Any) -> Config:
    path = folder / "toolwire.toml"
    path.write_text(text)
    return load(path, env={}, flags=flags)


def test_a_template_is_relative_to_the_configuration_file(tmp_path: Path) -> None:
    (tmp_path / "t.jinja").write_text(TEMPLATE)
    (backend,) = load_text(tmp_path, MODEL % '"t.jinja"').models[0].backends
    assert backend.chat_template is not None
    assert backend.chat_template.source == TEMPLATE
    assert "im_start" not in repr(backend)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ('"none.jinja"', "cannot be read: No such file"),
        ("7", "must be a path in quotes"),
        ('""', "must be a path in quotes"),
    ],
)
def test_a_template_that_cannot_be_had_is_an_error_with_its_line(
    tmp_path: Path, value: str, reason: str
) -> None:
    with pytest.raises(ConfigError, match=reason) as caught:
        load_text(tmp_path, MODEL % value)
    assert caught.value.line == 3
    assert "models[0].backend.chat_template" in caught.value.message


def test_the_embedded_model_has_its_own(tmp_path: Path) -> None:
    (tmp_path / "t.jinja").write_text(TEMPLATE)
    text = (MODEL % '"t.jinja"').replace("http://h/v1", "embedded:")
    with pytest.raises(ConfigError, match="has its chat template in its file"):
        load_text(tmp_path, text)


def test_a_prompt_has_no_native_tools(tmp_path: Path) -> None:
    (tmp_path / "t.jinja").write_text(TEMPLATE)
    with pytest.raises(ConfigError, match='use "auto" or "prompted"') as caught:
        load_text(tmp_path, MODEL % '"t.jinja"' + 'mode = "native"\n')
    assert caught.value.line == 4


@pytest.mark.parametrize("by", ["flag", "variable"])
def test_an_upstream_is_given_one_from_outside(tmp_path: Path, by: str) -> None:
    path = tmp_path / "t.jinja"
    path.write_text(TEMPLATE)
    env = {"TOOLWIRE_CHAT_TEMPLATE": str(path)} if by == "variable" else {}
    flags: dict[str, Any] = {"chat_template": path} if by == "flag" else {}
    config = load(None, env=env, flags={"upstream": ["http://a/v1", "http://b/v1"], **flags})
    templates = [b.chat_template for b in config.models[0].backends]
    assert [t.source for t in templates if t is not None] == [TEMPLATE] * 2
