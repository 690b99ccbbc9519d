import pytest
from tests.timing import cpu, least

from toolwire.server.telemetry.redact import MOST_SEEN, Redactor, clip

SECRET = "Zx9/q+planted=secret"


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (f"a {SECRET} b", "a *** b"),
        (f"{SECRET}{SECRET}", "******"),
        ("http://h/?q=Zx9%2Fq%2Bplanted%3Dsecret", "http://h/?q=***"),
        ("Authorization: Bearer abcdef, x", "Authorization: ***, x"),
        ("x-api-key: abcdef; X-Api-Key=abcdef", "***; ***"),
        ('{"X-API-Key": "abcdef", "x": 1}', '{"***", "x": 1}'),
        ("the x-api-key header", None),
        ("Incorrect API key provided: sk-proj-abc123XYZ.", "Incorrect API key provided: ***."),
        ("https://user:pass@host/v1", "https://***@host/v1"),
        ("GET /v1/models?api_key=abc&x=1", "GET /v1/models?***&x=1"),
        ("a task-management-tool and risk_assessment_x", None),
        ("mailto:a@b.c and http://host/path@2", None),
        ("the bearer of news", None),
        ("key=value", None),
        ("", None),
    ],
)
def test_secrets_and_what_looks_like_one_are_masked(text: str, masked: str | None) -> None:
    assert Redactor([SECRET]).redact(text) == (text if masked is None else masked)


def test_a_key_in_json_is_masked_as_it_is_written_there() -> None:
    redactor = Redactor(['quo"ted\\key'])
    assert redactor.redact('{"k": "quo\\"ted\\\\key"}') == '{"k": "***"}'


def test_a_secret_that_holds_another_leaves_nothing_behind() -> None:
    redactor = Redactor(["abcdefgh", "abcdefgh-ijklmnop", "efgh-ijkl"])
    assert redactor.redact("<abcdefgh-ijklmnop>") == "<***>"


def test_a_cut_never_leaves_half_a_secret() -> None:
    redactor = Redactor([SECRET, "another-secret"])
    text = f"{SECRET} and another-secret, {SECRET}. " * 3
    for limit in range(len(text) + 2):
        shown = redactor.redact(text, limit)
        assert not any(part in shown for part in ("Zx9", "planted", "another", "secret")), limit


def test_a_cut_text_is_short_and_says_so() -> None:
    assert Redactor().redact("a" * 300, 200) == "a" * 200 + "…"
    assert Redactor().redact("a" * 200, 200) == "a" * 200
    assert clip("a" * 300) == "a" * 200 + "…"
    assert clip("a" * 200) == "a" * 200


def test_a_client_key_is_masked_once_it_has_been_seen() -> None:
    redactor = Redactor([SECRET])
    assert "client-password" in redactor.redact("x client-password")
    redactor.see("client-password")
    assert redactor.redact(f"x client-password {SECRET}") == "x *** ***"


def test_dummy_keys_are_not_secrets() -> None:
    redactor = Redactor(["EMPTY", "ollama"])
    redactor.see("none")
    assert redactor.redact("ollama: none, EMPTY") == "ollama: none, EMPTY"


def test_only_so_many_client_keys_are_remembered() -> None:
    redactor = Redactor()
    for number in range(MOST_SEEN + 1):
        redactor.see(f"password-{number:05d}")
    assert redactor.redact("password-00000") == "password-00000"
    assert redactor.redact(f"password-{MOST_SEEN:05d}") == "***"


HOSTILE = [
    "a",
    "s",
    "sk-",
    "sk-a ",
    "Bearer ",
    "Bearer a",
    "://",
    "://a",
    "?key=",
    "&token",
    "Zx9/",
]


@pytest.mark.timed
@pytest.mark.parametrize("piece", HOSTILE)
def test_masking_is_linear_on_hostile_text(piece: str) -> None:
    redactor = Redactor([SECRET, *(f"{piece}-planted-{i}" for i in range(20))])

    def cost(size: int) -> float:
        text = (piece * (size // len(piece) + 1))[:size]
        return cpu(lambda: redactor.redact(text))

    def fits(small: float, large: float) -> bool:
        return large < 8 * small + 0.02  # four times the text; quadratic would be sixteen

    small, large = least(lambda: cost(2**18), lambda: cost(2**20), enough=fits)
    assert large < 1.0
    assert fits(small, large)
