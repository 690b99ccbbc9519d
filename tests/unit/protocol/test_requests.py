"""What a request says about itself."""

from msgspec import Raw

from toolwire.protocol.requests import Request


def test_requests_with_one_cache_key_belong_together_whatever_their_session() -> None:
    extras = {"prompt_cache_key": b'"k"'}
    assert Request("m", (), extras=extras, session="s").affinity == '"k"'
    assert Request("m", (), extras={"prompt_cache_key": Raw(b'"k"')}).affinity == '"k"'  # type: ignore[dict-item]


def test_without_a_cache_key_the_session_counts() -> None:
    assert Request("m", (), session="s").affinity == "s"
    assert Request("m", ()).affinity == ""
