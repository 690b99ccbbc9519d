import struct
from pathlib import Path

import pytest

from toolwire.backends.gguf import GgufFacts, NotGguf, read_facts, read_tokens


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def entry(key: str, kind: int, value: bytes) -> bytes:
    return text(key) + struct.pack("<I", kind) + value


def head(*entries: bytes, version: int = 3) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, 0, len(entries)) + b"".join(entries)


VOCABULARY = struct.pack("<IQ", 8, 2) + text("a") + text("b")
SCORES = struct.pack("<IQff", 6, 2, 0.5, 1.5)
WHOLE = head(
    entry("general.architecture", 8, text("llama")),
    entry("general.name", 8, text("My Model 7B")),
    entry("llama.context_length", 4, struct.pack("<I", 4096)),
    entry("tokenizer.ggml.add_bos_token", 7, b"\x01"),
    entry("tokenizer.ggml.tokens", 9, VOCABULARY),
    entry("tokenizer.ggml.scores", 9, SCORES),
    entry("tokenizer.chat_template", 8, text("{{ messages }}")),
)


def facts_of(folder: Path, content: bytes) -> GgufFacts:
    path = folder / "some-model.Q4.gguf"
    path.write_bytes(content)
    return read_facts(path)


def test_the_facts_are_read_past_the_vocabulary(tmp_path: Path) -> None:
    assert facts_of(tmp_path, WHOLE + b"tensors") == GgufFacts(
        name="My-Model-7B", architecture="llama", context=4096, chat_template="{{ messages }}"
    )


def test_a_model_without_a_name_is_called_like_its_file(tmp_path: Path) -> None:
    facts = facts_of(tmp_path, head(entry("general.architecture", 8, text("qwen2"))))
    assert facts == GgufFacts("some-model.Q4", "qwen2", 0, "")


def test_a_file_cut_off_anywhere_is_called_damaged(tmp_path: Path) -> None:
    for end in range(len(WHOLE)):
        with pytest.raises(NotGguf):
            facts_of(tmp_path, WHOLE[:end])


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "begin with"),
        (b"PK\x03\x04 a zip file", "begin with"),
        (head(version=1), "version is 1"),
        (head(entry("key", 99, b"")), "damaged"),
        (head(entry("key", 8, struct.pack("<Q", 1 << 63))), "damaged"),
        (head(entry("key", 9, struct.pack("<IQ", 9, 1))), "damaged"),
        (head(entry("key", 9, struct.pack("<IQ", 10, 1 << 62))), "damaged"),
        (head(entry("key", 9, struct.pack("<IQ", 8, 1 << 62))), "damaged"),
        (head(entry("key", 8, struct.pack("<Q", 1) + b"\xff")), "damaged"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1 << 63), "damaged"),
    ],
)
def test_what_is_not_gguf_is_refused_with_its_reason(
    content: bytes, reason: str, tmp_path: Path
) -> None:
    with pytest.raises(NotGguf, match=reason):
        facts_of(tmp_path, content)


@pytest.mark.parametrize(("model", "longest"), [("gpt2", 2), ("llama", 2), ("bert", 0)])
def test_a_token_stands_for_no_more_than_the_longest_one_is_written_with(
    tmp_path: Path, model: str, longest: int
) -> None:
    # BERT's tokenizer writes one unknown token for a word of any length.
    path = tmp_path / "model.gguf"
    kind, vocabulary = text(model), struct.pack("<IQ", 8, 2) + text("ab") + text("c")
    path.write_bytes(
        head(entry("tokenizer.ggml.model", 8, kind), entry("tokenizer.ggml.tokens", 9, vocabulary))
    )
    assert read_tokens(path).longest == longest
