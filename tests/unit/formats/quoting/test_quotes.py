"""What opens and closes a fence, and how much text waits to be scanned for its marks."""

import pytest

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


def scanned(text: str, piece: int) -> Quotes:
    """What is open behind this text, each piece of which is scanned by itself."""
    quotes = Quotes()
    for at in range(0, len(text), piece):
        quotes.see(text[at : at + piece])
        quotes = quotes.copy()
    return quotes


@pytest.mark.parametrize(("mark", "other"), ["`~", "~`"])
@pytest.mark.parametrize("piece", [1, 2, 1000])
def test_a_fence_is_closed_by_as_many_of_its_own_mark(mark: str, other: str, piece: int) -> None:
    fence = mark * 4
    opened = f"So:\n{fence}py\nx = 1\n"
    for closing in (fence, f"{fence}{mark} "):
        assert scanned(f"{opened}{closing}\n", piece).fence == ""
    for line in (mark * 3, other * 4, fence + other, other + fence, f"{fence} x", f"> {fence}"):
        assert scanned(f"{opened}{line}\n", piece).fence == mark, line


@pytest.mark.parametrize("piece", [1, 2, 1000])
def test_a_fence_of_tildes_opens_where_a_line_begins(piece: int) -> None:
    before = "It takes ~5 minutes~\n\n"
    for line in ("~~~", "  - ~~~", "~~~ a `b` ~~~", "~~~```"):
        assert scanned(f"{before}{line}\n", piece).fence == "~", line
    for line in ("~~", "~~ ~", "a ~~~", "\\~~~", "`~~~`", "~~`~~~", "``` a ` ~~~"):
        assert scanned(f"{before}{line}\n", piece).fence == "", line
