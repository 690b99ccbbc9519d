"""What a backend keeps of its clients, and takes from its server."""

import msgspec
import pytest

from toolwire.backends.anthropic.backend import AnthropicBackend, _read_count
from toolwire.backends.dialects import DIALECTS
from toolwire.backends.http import HttpPool, Origin


def test_heads_with_the_headers_of_clients_are_kept_within_bounds() -> None:
    pool = HttpPool(Origin.of("http://127.0.0.1:1/v1"), connect_timeout=2)
    backend = AnthropicBackend("b", pool, DIALECTS["anthropic"])
    first = backend._own_head({"anthropic-beta": "one"}, stream=True)
    assert backend._own_head({"anthropic-beta": "one"}, stream=True) is first
    for number in range(200):
        head = backend._own_head({"anthropic-beta": f"{number:050000}"}, stream=False)
        assert f"{number:050000}".encode() in head
    assert len(backend._own_heads) <= 10  # 100,000 bytes each


@pytest.mark.parametrize("count", ["-1", "1e30", "1000000001", "null"])
def test_a_count_of_tokens_that_cannot_be_is_refused(count: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        _read_count(f'{{"input_tokens": {count}}}'.encode())
    assert _read_count(b'{"input_tokens": 12}').input_tokens == 12
