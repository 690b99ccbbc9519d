"""The reference page."""

from html.parser import HTMLParser

from toolwire.server.apis.openapi import openapi
from toolwire.server.apis.reference import APIS
from toolwire.server.apis.reference_page import reference_page
from toolwire.surfaces.operations import Api, Operation, Parameter

VOID = {"meta", "br"}


class _Checker(HTMLParser):
    """Fails unless every element is closed in its turn."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_it_is_well_formed() -> None:
    checker = _Checker()
    checker.feed(reference_page(openapi(APIS)))
    assert checker.open == []


def test_what_is_described_is_shown_as_text() -> None:
    bad = Operation(
        "GET", "/<b>", "<script>1</script>", "a `<i>` b", (Parameter("<q>", "query", "<u>"),),
        answer=int, error=str, errors=(),
    )  # fmt: skip
    page = reference_page(openapi([Api("T", "", (bad,))]))
    for hostile in ("<b>", "<script>", "<i>", "<q>", "<u>"):
        assert hostile not in page
    assert "<code>&lt;i&gt;</code>" in page
