"""Reads a model's chat template from the files that come with the model.

The *marks* of a template are the texts that separate turns in its prompts: special tokens of the
tokenizer, and tags and headings in the template. They are escaped in untrusted text.
"""

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec

from toolwire.backends.base import Capabilities
from toolwire.backends.gguf import GgufTokens, NotGguf, read_facts, read_tokens

_LARGEST = 64 << 20
_LONGEST_MARK = 100
_TOKENIZER = "tokenizer_config.json"
_BESIDE = ("chat_template.jinja", "chat_template.json")
_DEFAULT = "default"
_ROLE = (
    "ai|answer|assistant|bot|human|input|instruction|model|observation|output|question|response"
    "|system|user"
)
# `<tag>`, `[TAG]`, `[|tag|]`, and the headings of plain-text templates: `### Response:`, `USER:`.
_MARK = re.compile(
    r"<[^<>\s{}'\"\\%]{1,64}+>|\[/?+[A-Z][A-Z_]{2,32}+\]|\[\|[^\[\]\s{}'\"|]{1,64}+\|\]"
    rf"|(?:\#{{1,4}}+ )?+(?<![A-Za-z])(?i:{_ROLE})s?+:"
)
# Where a template fills in the role, up to the text on both sides: `'[|' + m.role + '|]'`.
_FILLED_IN = re.compile(
    r"(?:['\"]\s*+[+~]\s*+|\{\{-?\s*+)"
    r"\w{1,32}+(?:\.role\b|\[['\"]role['\"]\])(?:\s*+\|\s*+\w++|\.\w++\(\))*+"
    r"(?:\s*+[+~]\s*+['\"]|\s*+-?\}\})"
)
_ROLES = [
    written(role)
    for role in ("system", "user", "assistant", "tool")
    for written in (str.lower, str.title, str.upper)
]


class NoTemplate(Exception):
    """There is no chat template in the file. The message says why, and what to do."""


class ChatTemplate(msgspec.Struct, frozen=True):
    """A chat template and its tokens."""

    source: str
    model: str = ""
    """The model's name, if the file has one."""
    bos: str = ""
    eos: str = ""
    adds_bos: bool = True
    """Whether the tokenizer prepends `bos`, so that the prompt must not start with it."""
    marks: tuple[str, ...] = ()

    @property
    def capabilities(self) -> Capabilities:
        """What is known about a model with this template."""
        return Capabilities(self.model, self.source, has_tools=False, marks=self.marks)


def read_template(path: Path) -> ChatTemplate:
    """Read the chat template from a model's file. Raises `NoTemplate`."""
    read = _READERS.get(path.suffix.lower(), _from_jinja)
    try:
        return read(path)
    except OSError as error:
        raise NoTemplate(f"{path} cannot be read: {error.strerror or error}") from None
    except (NotGguf, ValueError) as error:
        raise NoTemplate(f"{path} is damaged, or not what its name says: {error}") from None


def _from_gguf(path: Path) -> ChatTemplate:
    facts, tokens = read_facts(path), read_tokens(path)
    if not facts.chat_template:
        raise NoTemplate(f"{path} holds no chat template: give a .jinja file of the model's")
    return ChatTemplate(
        facts.chat_template,
        facts.name,
        tokens.bos,
        tokens.eos,
        tokens.adds_bos,
        marks_of(facts.chat_template, tokens),
    )


def marks_of(source: str, tokens: GgufTokens) -> tuple[str, ...]:
    """Return the marks of a GGUF file's template and tokenizer."""
    return _marks(source, (tokens.bos, tokens.eos, *tokens.control))


def _from_json(path: Path) -> ChatTemplate:
    """Read `tokenizer_config.json`, or a `chat_template.json` next to it."""
    fields = _json(path)
    template = _default(fields.get("chat_template")) or _source_beside(path)
    if not template:
        raise NoTemplate(f"{path} has no 'chat_template': give the file that has it")
    tokenizer = fields if path.name == _TOKENIZER else _tokenizer_beside(path)
    return _with_tokenizer(template, tokenizer)


def _from_jinja(path: Path) -> ChatTemplate:
    template = _text(path)
    if not template.strip():
        raise NoTemplate(f"{path} is empty: give the file that has the template")
    return _with_tokenizer(template, _tokenizer_beside(path))


_READERS: dict[str, Callable[[Path], ChatTemplate]] = {".gguf": _from_gguf, ".json": _from_json}


def _with_tokenizer(source: str, tokenizer: dict[str, Any]) -> ChatTemplate:
    bos, eos = _token(tokenizer.get("bos_token")), _token(tokenizer.get("eos_token"))
    adds_bos = tokenizer.get("add_bos_token") is not False
    special = (bos, eos, *_special_tokens(tokenizer))
    return ChatTemplate(source, "", bos, eos, adds_bos, _marks(source, special))


def _source_beside(path: Path) -> str:
    """Read the template of a newer model, which is next to the tokenizer's file."""
    for name in _BESIDE:
        beside = path.with_name(name)
        if path.name == _TOKENIZER and beside.is_file():
            if beside.suffix == ".jinja":
                return _text(beside)
            return _default(_json(beside).get("chat_template"))
    return ""


def _tokenizer_beside(path: Path) -> dict[str, Any]:
    beside = path.with_name(_TOKENIZER)
    return _json(beside) if beside.is_file() else {}


def _text(path: Path) -> str:
    with path.open("rb") as file:
        data = file.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise ValueError("it is too large")
    return data.decode("utf-8")


def _json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(_text(path))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError("it is not a JSON object")
    return value


def _default(template: object) -> str:
    """Return the template; of several named ones, the default."""
    if isinstance(template, list):
        named = (entry for entry in template if isinstance(entry, dict))
        default = next((entry for entry in named if entry.get("name") == _DEFAULT), {})
        template = default.get("template")
    return template if isinstance(template, str) else ""


def _token(value: object) -> str:
    """Return a token, which may be written as an object."""
    if isinstance(value, dict):
        value = value.get("content")
    return value if isinstance(value, str) else ""


def _special_tokens(tokenizer: dict[str, Any]) -> Iterable[str]:
    listed = tokenizer.get("additional_special_tokens")
    yield from map(_token, listed if isinstance(listed, list) else ())
    added = tokenizer.get("added_tokens_decoder")
    for token in added.values() if isinstance(added, dict) else ():
        if isinstance(token, dict) and token.get("special"):
            yield _token(token)


def _marks(source: str, tokens: Iterable[str]) -> tuple[str, ...]:
    filled = (_FILLED_IN.sub(role, source) for role in _ROLES)
    in_source = (mark for text in (source, *filled) for mark in _MARK.findall(text))
    found = dict.fromkeys([*in_source, *tokens])
    return tuple(mark for mark in found if 1 < len(mark) <= _LONGEST_MARK)
