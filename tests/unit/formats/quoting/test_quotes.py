"""How much text waits to be scanned for backticks."""

from toolwire.formats.quoting.quotes import Quotes


def test_large_pieces_are_scanned_before_they_add_up() -> None:
    quotes = Quotes()
    for _ in range(100):
        quotes.see("```\n" * 1024)
        assert sum(map(len, quotes._kept)) <= 64 * 1024


def test_words_wait_until_they_are_many() -> None:
    quotes = Quotes()
    for _ in range(200):
        quotes.see("`word` ")
    assert len(quotes._kept) == 200
