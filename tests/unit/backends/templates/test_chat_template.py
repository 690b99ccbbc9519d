"""Which file holds a model's chat template, and what belongs to it."""

import json
import struct
from pathlib import Path
from typing import Any

import pytest
from tests.unit.backends.test_gguf import entry, head, text

from toolwire.backends.base import Capabilities
from toolwire.backends.templates.chat_template import ChatTemplate, NoTemplate, read_template

SOURCE = "{{ bos_token }}{% for m in messages %}<|im_start|>{{ m.content }}<|im_end|>{% endfor %}"
TOKENIZER = {
    "chat_template": SOURCE,
    "bos_token": {"content": "<s>", "lstrip": False},
    "eos_token": "<|im_end|>",
    "added_tokens_decoder": {
        "1": {"content": "<unused1>", "special": True},
        "2": {"content": "<tool_call>", "special": False},
    },
    "additional_special_tokens": ["<extra>", {"content": "<more>"}],
}
MARKS = ("<|im_start|>", "<|im_end|>", "<s>", "<extra>", "<more>", "<unused1>")


def written(path: Path, content: object) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_a_tokenizers_configuration_has_the_template_and_the_tokens(tmp_path: Path) -> None:
    found = read_template(written(tmp_path / "tokenizer_config.json", TOKENIZER))
    assert found == ChatTemplate(SOURCE, "", "<s>", "<|im_end|>", True, MARKS)


@pytest.mark.parametrize("name", ["chat_template.jinja", "mine.jinja", "chat_template.json"])
def test_a_template_of_its_own_takes_its_tokens_from_beside_it(tmp_path: Path, name: str) -> None:
    written(tmp_path / "tokenizer_config.json", {**TOKENIZER, "chat_template": "old"})
    content: Any = {"chat_template": SOURCE} if name.endswith(".json") else SOURCE
    assert read_template(written(tmp_path / name, content)).source == SOURCE
    assert read_template(tmp_path / name).marks == MARKS


@pytest.mark.parametrize("name", ["chat_template.jinja", "chat_template.json"])
def test_a_configuration_without_a_template_has_it_beside_it(tmp_path: Path, name: str) -> None:
    content: Any = {"chat_template": SOURCE} if name.endswith(".json") else SOURCE
    written(tmp_path / name, content)
    path = written(tmp_path / "tokenizer_config.json", {"bos_token": "<s>"})
    assert read_template(path).source == SOURCE


def test_a_file_beside_it_may_have_no_template_either(tmp_path: Path) -> None:
    written(tmp_path / "chat_template.json", {})
    path = written(tmp_path / "tokenizer_config.json", {"bos_token": "<s>"})
    with pytest.raises(NoTemplate, match="has no 'chat_template'"):
        read_template(path)


def test_a_template_alone_is_enough(tmp_path: Path) -> None:
    source = "Date: today\n### Instruction:\n{{ m }}\nUSER: [INST] Note: superuser: {{ x['user'] }}"
    found = read_template(written(tmp_path / "a.jinja", source))
    assert (found.bos, found.eos) == ("", "")
    assert found.marks == ("### Instruction:", "USER:", "[INST]")


@pytest.mark.parametrize(
    ("source", "marks"),
    [
        ("{{ '[|user|]' + text + '[|endofturn|]' }}", {"[|user|]", "[|endofturn|]"}),
        ("{{ '[|' + message['role'] + '|]' + text }}", {"[|user|]", "[|assistant|]", "[|tool|]"}),
        ("{{ message['role'] | capitalize }}: {{ text }}", {"User:", "Assistant:", "System:"}),
        ("{{ message.role.upper() + ': ' + text }}", {"USER:", "ASSISTANT:", "SYSTEM:"}),
        ("{{- m['role'] ~ ':' }}{{ text }}", {"user:", "assistant:"}),
        ("<{{ m.role }}>{{ text }}</{{ m.role }}>", {"<user>", "</user>", "<assistant>"}),
    ],
)
def test_what_tells_turns_apart_is_found_also_where_roles_are_filled_in(
    tmp_path: Path, source: str, marks: set[str]
) -> None:
    assert marks <= set(read_template(written(tmp_path / "a.jinja", source)).marks)


def test_roles_that_tell_no_turns_apart_are_no_marks(tmp_path: Path) -> None:
    source = "{% set m = {'role': 'user'} %}{{ '<|im_start|>' + m['role'] + '\\n' + m.content }}"
    assert read_template(written(tmp_path / "a.jinja", source)).marks == ("<|im_start|>",)


def test_of_several_templates_the_one_for_everything_is_taken(tmp_path: Path) -> None:
    several = [{"name": "rag", "template": "no"}, {"name": "default", "template": SOURCE}]
    path = written(tmp_path / "tokenizer_config.json", {"chat_template": several})
    assert read_template(path).source == SOURCE


def test_a_name_of_a_template_that_is_no_name_is_passed_over(tmp_path: Path) -> None:
    several = [{"name": {}, "template": "no"}, 1, {"name": "default", "template": SOURCE}]
    path = written(tmp_path / "tokenizer_config.json", {"chat_template": several})
    assert read_template(path).source == SOURCE


def test_a_tokenizer_may_say_that_it_adds_no_bos(tmp_path: Path) -> None:
    path = written(tmp_path / "tokenizer_config.json", {**TOKENIZER, "add_bos_token": False})
    assert not read_template(path).adds_bos


def vocabulary(*tokens: str) -> bytes:
    return struct.pack("<IQ", 8, len(tokens)) + b"".join(map(text, tokens))


def number(value: int) -> bytes:
    return struct.pack("<I", value)


def test_a_gguf_file_has_it_all_in_its_head(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(
        head(
            entry("general.name", 8, text("Some Model")),
            entry("tokenizer.ggml.tokens", 9, vocabulary("a", "<s>", "<end>", "<odd>")),
            entry("tokenizer.ggml.token_type", 9, struct.pack("<IQiiii", 5, 4, 1, 3, 3, 3)),
            entry("tokenizer.ggml.bos_token_id", 4, number(1)),
            entry("tokenizer.ggml.eos_token_id", 4, number(2)),
            entry("tokenizer.ggml.add_bos_token", 7, b"\0"),
            entry("tokenizer.chat_template", 8, text("{{ tools }}")),
        )
    )
    marks = ("<s>", "<end>", "<odd>")
    found = read_template(path)
    assert found == ChatTemplate("{{ tools }}", "Some-Model", "<s>", "<end>", False, marks)
    assert found.capabilities == Capabilities(
        "Some-Model", "{{ tools }}", has_tools=False, marks=marks
    )


def test_a_token_that_the_vocabulary_does_not_have_is_none(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(
        head(
            entry("tokenizer.ggml.tokens", 9, vocabulary("a")),
            entry("tokenizer.ggml.eos_token_id", 4, number(4_000_000_000)),
            entry("tokenizer.chat_template", 8, text("{{ m }}")),
        )
    )
    assert read_template(path) == ChatTemplate("{{ m }}", "model")


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("tokenizer_config.json", b"{}", "has no 'chat_template'"),
        ("tokenizer_config.json", b"[]", "not a JSON object"),
        ("tokenizer_config.json", b"{", "damaged"),
        ("tokenizer_config.json", b"[" * 200_000, "damaged"),
        ("a.jinja", b"\xff", "damaged"),
        ("a.jinja", b" \n", "is empty"),
        ("a.gguf", b"PK", "does not begin with 'GGUF'"),
        ("a.gguf", head(), "holds no chat template"),
    ],
)
def test_a_file_without_a_template_is_refused_with_its_reason(
    tmp_path: Path, name: str, content: bytes, reason: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(NoTemplate, match=reason):
        read_template(tmp_path / name)


def test_a_file_that_is_not_there_is_said_to_be(tmp_path: Path) -> None:
    with pytest.raises(NoTemplate, match="cannot be read: No such file"):
        read_template(tmp_path / "none.jinja")
