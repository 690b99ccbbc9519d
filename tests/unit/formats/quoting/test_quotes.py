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


def test_a_quotation_is_open_however_long_its_line_is() -> None:
    for piece in (1, 7, 100, 1000):
        quotes, text = Quotes(), 'A "thing" of `b`. ' * 20 + 'So "' + "word " * 100
        for at in range(0, len(text), piece):
            quotes.see(text[at : at + piece])
            assert quotes.quote() == ('"' if text[: at + piece].count('"') % 2 else "")
        quotes.see("\n")
        assert quotes.quote() == ""
