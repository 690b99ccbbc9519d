import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import fields, replace

from toolwire.server.access import auth
from toolwire.server.config.fields import settings_of
from toolwire.server.config.loader import (
    BackendConfig,
    Config,
    ConfigError,
    Listen,
    RouteConfig,
    Secret,
    ServerLimits,
    Timeouts,
    load,
    secrets_of,
)
from toolwire.server.config.overrides import UPSTREAM_FLAGS
from toolwire.surfaces.passing.endpoints import Endpoint

HASH = auth.hash_key("tw-client-key")
MODEL = '[[models]]\nname = "m"\nbackend = { url = "http://localhost:8000/v1" }\n'
ALIASED = MODEL.replace('"m"', '"n"') + 'aliases = ["x", "gpt-*"]\n' + MODEL
KEY = f'[[keys]]\nname = "me"\nsha256 = "{HASH}"\n'
TLS = Path(__file__).parents[3] / "tls"
LISTEN_TLS = '[listen]\ntls_cert = "cert.pem"\ntls_key = "key.pem"\n'
ENV = {"BACKEND_KEY": "sk-planted-backend-key"}

Loader = Callable[..., Config]


@pytest.fixture
def load_text(tmp_path: Path) -> Loader:
    def load_it(text: str, env: dict[str, str] | None = None, **flags: Any) -> Config:
        path = tmp_path / "toolwire.toml"
        path.write_text(text)
        return load(path, env=ENV if env is None else env, flags=flags)

    return load_it


def test_an_upstream_is_all_that_is_needed() -> None:
    config = load(None, env={}, flags={"upstream": ["http://localhost:8000/v1"]})
    backend = BackendConfig(name="localhost:8000", url="http://localhost:8000/v1")
    assert config == replace(Config(), models=(RouteConfig("*", (backend,)),))


def test_without_any_model_the_embedded_one_serves_every_name() -> None:
    config = load(None, env={}, flags={})
    backend = BackendConfig(name="embedded", url="embedded:")
    assert config.models == (RouteConfig("*", (backend,), mode="auto"),)
    assert config.serves_embedded


def test_a_model_file_is_relative_to_the_configuration_file(load_text: Loader) -> None:
    with pytest.raises(ConfigError) as caught:
        load_text('[embedded]\ngguf = "models/m.gguf"\n')
    assert caught.value.line == 2
    assert caught.value.path is not None
    assert f"no file at {caught.value.path.parent}/models/m.gguf" in str(caught.value)


@pytest.mark.parametrize(
    ("env", "flags", "embedded"),
    [
        ({"TOOLWIRE_UPSTREAM": "http://h"}, {}, False),
        ({"TOOLWIRE_UPSTREAM": "http://h"}, {"gguf": __file__}, True),
        ({"TOOLWIRE_GGUF": __file__}, {"upstream": ["http://h"]}, False),
        ({"TOOLWIRE_GGUF": __file__}, {}, True),
    ],
)
def test_a_flag_decides_between_upstream_and_model_file(
    env: dict[str, str], flags: dict[str, Any], embedded: bool, load_text: Loader
) -> None:
    config = load_text(MODEL, env, **flags)
    assert config.serves_embedded is embedded
    assert [model.name for model in config.models] == ["m", "*"]


def test_a_route_can_have_the_embedded_model_as_its_backend(load_text: Loader) -> None:
    config = load_text(
        f'{MODEL}[[models]]\nname = "tiny"\nbackend = {{ url = "embedded:" }}\n'
        "[embedded]\nctx = 2048\nthreads = 3\n"
    )
    assert config.models[1].backends[0].name == "embedded"
    assert (config.embedded.ctx, config.embedded.threads) == (2048, 3)


def test_an_embedded_model_that_nothing_uses_is_refused(load_text: Loader) -> None:
    with pytest.raises(ConfigError, match=r"uses \[embedded\]") as caught:
        load_text(f"{MODEL}[embedded]\nctx = 2048\n")
    assert caught.value.line == 4


def test_the_defaults_are_the_documented_ones() -> None:
    config = Config()
    assert (config.listen.host, config.listen.port) == ("127.0.0.1", 8181)
    assert config.limits.body_bytes == 10 * 1024 * 1024
    assert config.limits.sse_line_bytes == 8 * 1024 * 1024
    assert (config.limits.tools, config.limits.depth) == (128, 128)
    assert (config.timeouts.header, config.timeouts.keepalive) == (10, 15)
    assert (config.history, config.strict_parallel, config.passthrough[0].path) == (
        "refuse",
        "off",
        "completions",
    )


def test_a_whole_file_is_read(load_text: Loader) -> None:
    config = load_text(
        f"""
        history = "repair"
        strict_parallel = "validate"
        passthrough = ["rerank", "GET files/*"]
        [listen]
        host = "::1"
        port = 9000
        [limits]
        tools = 256
        [timeouts]
        idle = 30
        first_token = 90.5
        [retries]
        attempts = 0
        [log]
        level = "debug"
        format = "json"
        {KEY}
        [[models]]
        name = "qwen"
        format = "hermes"
        mode = "watched"
        [[models.backends]]
        name = "gpu-1"
        url = "http://10.0.0.1:8000/v1/"
        key_env = "BACKEND_KEY"
        model = "Qwen/Qwen3-Coder"
        dialect = "vllm"
        params_add = ["top_k"]
        params_remove = ["logprobs"]
        call_ids = "kimi"
        constraint = "guided_json"
        custom_tools = true
        headers = {{ X-Team = "a" }}
        timeouts = {{ idle = 5 }}
        [[models.backends]]
        url = "https://gpu-2/v1"
        """
    )
    first, second = config.models[0].backends
    assert (config.history, config.strict_parallel, config.passthrough) == (
        "repair",
        "validate",
        (Endpoint("POST", "rerank"), Endpoint("GET", "files/*")),
    )
    assert config.listen == Listen(host="::1", port=9000)
    assert (config.limits, config.retries.attempts) == (ServerLimits(tools=256), 0)
    assert (config.log.level, config.log.format) == ("debug", "json")
    assert (config.keys[0].name, config.keys[0].sha256) == ("me", HASH)
    assert first == BackendConfig(
        name="gpu-1",
        url="http://10.0.0.1:8000/v1",
        key=Secret("sk-planted-backend-key"),
        model="Qwen/Qwen3-Coder",
        dialect="vllm",
        params_add=("top_k",),
        params_remove=("logprobs",),
        call_ids="kimi",
        constraint="guided_json",
        custom_tools=True,
        headers={"x-team": "a"},
        timeouts=Timeouts(first_token=90.5, idle=5.0),
    )
    assert (second.name, second.timeouts, second.dialect) == ("gpu-2", None, "auto")


def test_a_flag_wins_over_a_variable_and_a_variable_over_the_file(load_text: Loader) -> None:
    text = '[listen]\nport = 1000\n[log]\nlevel = "error"\n' + MODEL
    variables = {"TOOLWIRE_PORT": "2000", "TOOLWIRE_LOG_LEVEL": "debug"}
    assert load_text(text).listen.port == 1000
    assert load_text(text, variables).listen.port == 2000
    assert load_text(text, variables, port=3000).listen.port == 3000
    assert load_text(text, variables, port=3000).log.level == "debug"
    assert load_text(text, variables, port=None).listen.port == 2000
    assert load_text(text, {"TOOLWIRE_PORT": ""}).listen.port == 1000


def test_an_upstream_takes_the_place_of_any_other_model_and_keeps_the_named_ones(
    load_text: Loader,
) -> None:
    star = '[[models]]\nname = "*"\nbackend = { url = "http://old/v1" }\n'
    config = load_text(MODEL + star, upstream=["http://new/v1", "http://new/v2"])
    urls = {route.name: [b.url for b in route.backends] for route in config.models}
    assert urls == {"m": ["http://localhost:8000/v1"], "*": ["http://new/v1", "http://new/v2"]}
    assert [b.name for b in config.models[1].backends] == ["new", "new-2"]


def test_the_environment_alone_is_enough() -> None:
    env = {
        "TOOLWIRE_UPSTREAM": "http://a/v1 http://b/v1",
        "TOOLWIRE_UPSTREAM_KEY": "sk-upstream",
        "TOOLWIRE_UPSTREAM_DIALECT": "vllm",
        "TOOLWIRE_UPSTREAM_MODE": "native",
        "TOOLWIRE_UPSTREAM_FORMAT": "mistral",
        "TOOLWIRE_HOST": "0.0.0.0",
        "TOOLWIRE_API_KEY": "tw-client-key",
    }
    config = load(None, env=env, flags={})
    assert [b.key for b in config.models[0].backends] == [Secret("sk-upstream")] * 2
    assert [b.dialect for b in config.models[0].backends] == ["vllm"] * 2
    assert (config.models[0].mode, config.models[0].format) == ("native", "mistral")
    changed = load(None, env=env, flags={"upstream_mode": "prompted", "upstream_format": "qwen25"})
    assert (changed.models[0].mode, changed.models[0].format) == ("prompted", "qwen25")
    assert auth.Keyring(config.keys).check("Bearer tw-client-key") == "TOOLWIRE_API_KEY"
    assert "tw-client-key" not in repr(config)


def test_a_named_variable_wins_over_the_default_one_for_the_upstream_key() -> None:
    env = {"TOOLWIRE_UPSTREAM_KEY": "sk-default", "MINE": "sk-mine"}
    flags = {"upstream": ["http://a/v1"], "upstream_key_env": "MINE"}
    assert load(None, env=env, flags=flags).models[0].backends[0].key == Secret("sk-mine")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost"])
def test_loopback_needs_no_keys(host: str, load_text: Loader) -> None:
    assert load_text(MODEL, host=host).keys == ()


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "192.168.1.5", "example.org", "127.0.0.1.nip.io"]
)
def test_any_other_address_needs_keys_or_the_explicit_flag(host: str, load_text: Loader) -> None:
    with pytest.raises(ConfigError, match=r"\[\[keys\]\].*TOOLWIRE_API_KEY.*--public"):
        load_text(MODEL, host=host)
    assert load_text(MODEL + KEY, host=host).listen.host == host
    assert load_text(MODEL, host=host, public=True).listen.public
    assert load_text(MODEL, {"TOOLWIRE_PUBLIC": "yes"}, host=host).listen.public
    assert load_text("[listen]\npublic = true\n" + MODEL, host=host).listen.public


def test_certificates_are_found_beside_the_file(load_text: Loader, tmp_path: Path) -> None:
    for name in ("cert.pem", "key.pem"):
        (tmp_path / name).write_bytes((TLS / name).read_bytes())
    config = load_text(LISTEN_TLS + MODEL)
    assert config.listen.tls_cert == tmp_path / "cert.pem"


def test_a_certificate_that_cannot_be_used_is_refused(load_text: Loader, tmp_path: Path) -> None:
    for name in ("cert.pem", "key.pem"):
        (tmp_path / name).write_text("something else")
    with pytest.raises(
        ConfigError, match=r"cert.pem and .*key.pem cannot be used .* PEM"
    ) as caught:
        load_text(LISTEN_TLS + MODEL)
    assert caught.value.line == 2


def test_a_file_may_begin_with_the_mark_that_some_editors_put_there(load_text: Loader) -> None:
    assert load_text("\ufeffhistory = 'repair'\n" + MODEL).history == "repair"


@pytest.mark.parametrize("flag", UPSTREAM_FLAGS[1:])
def test_what_is_said_of_an_upstream_needs_one(flag: str, load_text: Loader) -> None:
    with pytest.raises(ConfigError, match=f"--{flag.replace('_', '-')} is for .*: give both"):
        load_text(MODEL, **{flag: "vllm"})


def backend(line: str) -> str:
    return f'[[models]]\nname = "m"\n[[models.backends]]\nurl = "http://h/v1"\n{line}\n'


def url(value: str) -> str:
    return f'[[models]]\nname = "m"\nbackend.url = "{value}"\n'


# text of the file, line of the error, and what its message must hold: the key, the value, the fix
ERRORS = [
    ("[listen]\nprot = 1\n", 2, ["'prot'", "[listen]", "did you mean 'port'?"]),
    ("[lisen]\nport = 1\n", 1, ["'lisen'", "did you mean 'listen'?"]),
    ("[listen]\nqqqq = 1\n", 2, ["'qqqq'", "use one of", "host", "port"]),
    ('[listen]\nhistory = "repair"\n', 2, ["top-level", "above the first [table]"]),
    ('[listen]\nport = "80"\n', 2, ['listen.port = "80"', "whole number"]),
    ("[listen]\nport = true\n", 2, ["listen.port = true", "whole number"]),
    ("[listen]\nport = 65536\n", 2, ["listen.port = 65536", "0 to 65535", "default 8181"]),
    ('[listen]\nhost = "http://x"\n', 2, ["listen.host", "such as"]),
    ("[listen]\npublic = 1\n", 2, ["listen.public = 1", "true or false"]),
    ("\n\n[limits]\n# x\nbody_bytes = 10.5\n", 5, ["limits.body_bytes = 10.5", "whole number"]),
    ("[limits]\ndepth = 100_000\n", 2, ["limits.depth = 100000", "8 to 512"]),
    ("[timeouts]\nidle = nan\n", 2, ["timeouts.idle", "out of range"]),
    ("[timeouts]\ntotal = inf\n", 2, ["timeouts.total", "out of range"]),
    ("[timeouts]\nidle = -1\n", 2, ["timeouts.idle = -1", "default 300"]),
    ("[retries]\nattempts = 21\n", 2, ["retries.attempts = 21", "0 to 20"]),
    ('[log]\nlevel = "loud"\n', 2, ['log.level = "loud"', '"debug", "info"']),
    ('history = "fix"\n', 1, ['history = "fix"', '"refuse", "repair"']),
    ("listen = 8080\n", 1, ["listen", "must be a table", "[listen]"]),
    ("[models]\nname = 'm'\n", 1, ["models", "[[models]]"]),
    ("models = [1]\n", 1, ["models[0]", "must be a table"]),
    ("[[models]]\nname = 'm'\n", 1, ["models[0]", "no backend", "add backend"]),
    ("[[models]]\nname = 'm'\nbackends = []\n", 1, ["no backend"]),
    ("[[models]]\nname = 'm'\nbackend = {}\n", 3, ["has no 'url'", "add it", "http://"]),
    ("[[models]]\nbackend.url = 'http://h/v1'\n", 1, ["models[0]", "has no 'name'"]),
    ("[[models]]\nname = ''\nbackend.url = 'http://h/v1'\n", 2, ["models[0].name", "printable"]),
    (MODEL + MODEL, 5, ['models[1].name = "m"', "twice", "unique"]),
    (backend("") + "[[models.backends]]\nurl='http://i/v1'\nname='a'\n" * 2, 11, ['"a"', "twice"]),
    (MODEL + "backends = []\n", 3, ["'backend' or 'backends'"]),
    (MODEL + 'aliases = "x"\n', 4, ["models[0].aliases", "list of strings"]),
    (MODEL + 'aliases = ["a*b"]\n', 4, ["models[0].aliases", '["a*b"]', "only at the end"]),
    (MODEL + 'aliases = ["a**"]\n', 4, ["only at the end", '["a**"]']),
    (MODEL + 'aliases = [""]\n', 4, ["aliases", "printable"]),
    (MODEL + 'aliases = ["m"]\n', 4, ["aliases", '"m" is already a name of this model']),
    (MODEL + 'aliases = ["x", "x"]\n', 4, ["aliases", '"x" is already a name of this model']),
    (ALIASED + 'aliases = ["y", "x"]\n', 8, ["models[1].aliases", '"x" is', "of 'n'"]),
    (ALIASED + 'aliases = ["gpt-*"]\n', 8, ["models[1].aliases", '"gpt-*" is', "of 'n'"]),
    (ALIASED + 'aliases = ["*"]\n' + MODEL.replace('"m"', '"*"'), 8, ['"*" is', "of '*'"]),
    (MODEL.replace('"m"', '"*-mini"'), 2, ["models[0].name", "only at the end"]),
    (MODEL + 'mode = "magic"\n', 4, ['models[0].mode = "magic"', '"prompted"']),
    (url("localhost:8000/v1"), 3, ['"localhost:8000/v1"', "no scheme", "http://"]),
    (url("ftp://h/v1"), 3, ['"ftp://h/v1"', "http://"]),
    (url("http://h/v1?x=1"), 3, ["query", "base URL"]),
    (url("http://h/v1#a"), 3, ["fragment", "base URL"]),
    (url("http://h/v1/chat/completions"), 3, ["without", "/chat/completions"]),
    (url("http://h:99999/v1"), 3, ["host and port"]),
    (url("http:///v1"), 3, ["host and port"]),
    (url("http://h\\\\@evil/v1"), 3, ["backslash"]),
    (url("http://h /v1"), 3, ["spaces"]),
    (backend('dialect = "vlm"'), 5, ['dialect = "vlm"', "openai", "vllm", "llamacpp"]),
    (backend('key_env = "NOT_SET"'), 5, ["key_env", "NOT_SET", "not set", "export"]),
    (backend('key_evn = "X"'), 5, ["'key_evn'", "did you mean 'key_env'?"]),
    (backend('params_add = "top_k"'), 5, ["params_add", "list of strings"]),
    (backend("params_add = [1]"), 5, ["params_add", "list of strings"]),
    (backend('params_remove = ["messages"]'), 5, ["'messages'", "leave it out"]),
    (backend('call_ids = "uuid"'), 5, ['"uuid"', '"mistral"']),
    (backend('constraint = "json"'), 5, ['"json"', '"guided_json"']),
    (backend("headers = { Authorization = 'x' }"), 5, ["key_env"]),
    (backend("headers = { Host = 'x' }"), 5, ["'Host'", "leave it out"]),
    (backend('headers = { x = "a\\nb" }'), 5, ["'x'", "printable"]),
    (backend("headers = { x = 1 }"), 5, ["table of strings"]),
    (backend("timeouts = { idel = 1 }"), 5, ["'idel'", "did you mean 'idle'?"]),
    (KEY + KEY, 5, ['keys[1].name = "me"', "twice"]),
    (KEY + KEY.replace('"me"', '"you"'), 6, ["keys[1].sha256", "twice"]),
    ("[[keys]]\nname = 'a'\n", 1, ["keys[0]", "has no 'sha256'", "sha256sum"]),
    ("[listen]\ntls_cert = 'x.pem'\n" + MODEL, 1, ["tls_key", "set both"]),
    ("[listen]\ntls_cert = 'x.pem'\ntls_key = 'y.pem'\n" + MODEL, 1, ["no file", "x.pem"]),
    ("[listen]\nhost = '0.0.0.0'\n" + MODEL, 2, ["0.0.0.0", "public = true"]),
    ("[listen]\nport = \n", 2, ["not valid TOML"]),
    ("[listen]\nport = 1\nport = 2\n", 3, ["not valid TOML", "overwrite"]),
    ("[listen]\nhost = localhost\n", 2, ["not valid TOML", "quotes"]),
    ("[listen\n", 1, ["not valid TOML"]),
]


@pytest.mark.parametrize(("text", "line", "parts"), ERRORS, ids=[e[2][0] for e in ERRORS])
def test_an_error_names_the_line_the_key_and_the_fix(
    text: str, line: int, parts: list[str], load_text: Loader
) -> None:
    with pytest.raises(ConfigError) as caught:
        load_text(text)
    assert caught.value.line == line, str(caught.value)
    assert f"toolwire.toml:{line}: " in str(caught.value)
    for part in parts:
        assert part in str(caught.value)


# where a secret is put by mistake, or belongs: no message may repeat it
MISPLACED = [
    backend('key = "sk-planted"'),
    backend('api_key = "sk-planted"'),
    backend('key_env = "sk-planted"'),
    backend('key_env = "hf_planted"'),
    backend("key_env = ['sk-planted']"),
    backend('headers = { x-api-key = "planted\\u0001" }'),
    backend('headers = "planted"'),
    url("http://user:planted@h/v1"),
    url("http://planted@h/v1"),
    url("http://h/v1?api_key=planted"),
    url("user:planted@h/v1"),
    url("http://user:planted@h/v1 "),
    "[[keys]]\nname = 'a'\nsha256 = 'tw-planted'\n",
    "[[keys]]\nname = 'a'\nkey = 'tw-planted'\n",
    "[[keys]]\nname = 'a'\nsha256 = ['tw-planted']\n",
    "api_key = 'sk-planted'\n",
]


@pytest.mark.parametrize("text", MISPLACED)
def test_an_error_never_repeats_a_secret(text: str, load_text: Loader) -> None:
    with pytest.raises(ConfigError) as caught:
        load_text(text)
    assert caught.value.line is not None
    assert "planted" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("env", "flags", "parts"),
    [
        ({}, {"gguf": "m.gguf", "upstream": ["http://h"]}, ["--gguf", "--upstream", "only one"]),
        ({}, {"gguf": "/no/such.gguf"}, ["no file at /no/such.gguf"]),
        ({}, {"threads": 513}, ["--threads = 513", "512"]),
        ({"TOOLWIRE_PORT": "http"}, {}, ['TOOLWIRE_PORT = "http"', "whole number"]),
        ({"TOOLWIRE_PORT": "-1"}, {}, ['TOOLWIRE_PORT = "-1"', "whole number"]),
        ({"TOOLWIRE_PORT": "70000"}, {}, ["TOOLWIRE_PORT = 70000", "65535"]),
        ({"TOOLWIRE_PUBLIC": "maybe"}, {}, ["TOOLWIRE_PUBLIC", "true or false"]),
        ({}, {"port": 70000}, ["--port = 70000", "65535"]),
        ({}, {"log_level": "loud"}, ['--log-level = "loud"', '"debug"']),
        ({}, {"upstream": ["h:8000"]}, ['--upstream = "h:8000"', "no scheme"]),
        ({"TOOLWIRE_UPSTREAM": "h"}, {}, ['TOOLWIRE_UPSTREAM = "h"', "no scheme"]),
        ({}, {"upstream": ["http://a:b@h"]}, ["--upstream", "key_env", "***@h"]),
        (
            {},
            {"upstream": ["http://h"], "upstream_key_env": "NOPE"},
            ["--upstream-key-env", "NOPE is not set"],
        ),
        (
            {"X": "a b"},
            {"upstream": ["http://h"], "upstream_key_env": "X"},
            ["--upstream-key-env", "visible ASCII"],
        ),
        (
            {},
            {"upstream": ["http://h"], "upstream_dialect": "gpt"},
            ["--upstream-dialect", "vllm"],
        ),
        ({}, {"upstream": ["http://h"], "upstream_mode": "x"}, ["--upstream-mode", "prompted"]),
        ({}, {"upstream": ["http://h"], "upstream_format": "x"}, ["--upstream-format", "x"]),
        ({}, {"model_alias": ["claude-*"]}, ["--model-alias claude-*", "ALIAS=MODEL"]),
        ({}, {"model_alias": ["a=b*"]}, ["--model-alias a=b*", "ALIAS=MODEL"]),
        ({}, {"model_alias": ["=b"]}, ["--model-alias", "printable"]),
        ({"TOOLWIRE_MODEL_ALIAS": "a=b a=c"}, {}, ["--model-alias", '"a" is already a name of']),
        ({}, {"model_alias": ["*=b"]}, ["--model-alias", "\"*\" is already a name of '*'"]),
        ({"TOOLWIRE_API_KEY": "schlüssel"}, {}, ["TOOLWIRE_API_KEY", "ASCII"]),
    ],
)
def test_an_error_outside_the_file_names_its_variable_or_flag(
    env: dict[str, str], flags: dict[str, Any], parts: list[str]
) -> None:
    with pytest.raises(ConfigError) as caught:
        load(None, env=env, flags=flags)
    assert (caught.value.path, caught.value.line) == (None, None)
    for part in parts:
        assert part in str(caught.value)


def test_an_alias_of_a_flag_joins_those_of_its_model(load_text: Loader) -> None:
    config = load_text(ALIASED, model_alias=["claude-*=n", "o3=m"])
    aliases = {route.name: route.aliases for route in config.models}
    assert aliases == {"n": ("x", "gpt-*", "claude-*"), "m": ("o3",)}


def test_an_alias_of_a_model_that_is_unknown_is_refused(load_text: Loader) -> None:
    with pytest.raises(ConfigError, match="there is no model 'q': use one of n, m"):
        load_text(ALIASED, model_alias=["claude-*=q"])


def test_an_alias_where_any_name_is_served_gets_a_route_of_its_own() -> None:
    flags = {"upstream": ["http://h/v1"], "model_alias": ["claude-*=q", "gpt-5=q"]}
    plain, named = load(None, env={}, flags=flags).models
    assert (plain.name, plain.aliases, plain.fixed_name) == ("*", (), None)
    assert (named.name, named.aliases, named.fixed_name) == ("q", ("claude-*", "gpt-5"), "q")
    assert named.backends == plain.backends


def test_a_flag_that_does_not_exist_is_a_mistake_of_the_program() -> None:
    with pytest.raises(TypeError, match="prot"):
        load(None, env={}, flags={"prot": 1})


def test_a_file_that_cannot_be_read_is_an_error_that_names_it(tmp_path: Path) -> None:
    missing = tmp_path / "missing.toml"
    with pytest.raises(ConfigError, match=r"missing\.toml: cannot be read \(No such file"):
        load(missing, env={}, flags={})
    with pytest.raises(ConfigError, match="cannot be read"):
        load(tmp_path, env={}, flags={})
    missing.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="UTF-8"):
        load(missing, env={}, flags={})


def test_a_key_is_never_shown_by_the_configuration(load_text: Loader) -> None:
    config = load_text(
        backend('key_env = "BACKEND_KEY"\nheaders = { x-api-key = "planted-header" }')
    )
    for shown in (repr(config), str(config), f"{config.models[0].backends[0].key}"):
        assert "planted" not in shown
    assert set(secrets_of(config)) == {"sk-planted-backend-key", "planted-header"}


def test_the_key_of_call_maps_is_read_from_its_variable(load_text: Loader) -> None:
    text = MODEL + '[native]\ncall_map_key_env = "MAP_KEY"\n'
    config = load_text(text, {"MAP_KEY": "planted-map-key"})
    assert config.native.call_map_key == Secret("planted-map-key")
    assert set(secrets_of(config)) == {"planted-map-key"}
    assert "planted" not in repr(config)
    with pytest.raises(ConfigError, match="MAP_KEY is not set"):
        load_text(text)
    assert load_text(MODEL).native.call_map_key is None


def test_a_secret_equals_only_its_like() -> None:
    assert Secret("a") == Secret("a") != Secret("b")
    assert Secret("a") != "a"
    assert len({Secret("a"), Secret("a")}) == 1
    assert Secret("a").reveal() == "a"


def test_every_setting_has_a_help_text_and_every_number_a_range_around_its_default() -> None:
    records = [type(getattr(Config(), f.name)) for f in fields(Config)] + [
        RouteConfig,
        BackendConfig,
    ]
    for record in {r for r in records if r.__module__.startswith("toolwire")} | {Config}:
        for setting in settings_of(record):
            assert setting.option.help, setting
            if setting.kind in (int, float):
                assert setting.option.low is not None
                assert setting.option.high is not None
                assert setting.option.low <= setting.default <= setting.option.high


@pytest.mark.timed
def test_a_large_file_is_read_in_well_under_a_second(load_text: Loader) -> None:
    text = "".join(MODEL.replace('"m"', f'"m{i}"') for i in range(1000))
    started = time.process_time()
    assert len(load_text(text).models) == 1000
    with pytest.raises(ConfigError) as caught:
        load_text(text + "[limits]\ntools = 0\n")
    assert caught.value.line == 3002
    assert time.process_time() - started < 2


def test_all_errors_of_a_file_are_told_at_once_in_its_order(load_text: Loader) -> None:
    text = (
        "[listen]\nport = -1\n[limits]\ntools = 0\nbodies = 1\n"
        '[[models]]\nname = "a"\nmode = "x"\n[[models.backends]]\nurl = "h"\n'
        '[[models]]\nname = "b"\nbackend = {}\n[[keys]]\nname = "k"\nsha256 = "short"\n'
    )
    with pytest.raises(ConfigError) as caught:
        load_text(text)
    assert [error.line for error in caught.value.errors] == [2, 4, 5, 8, 10, 13, 16]
    assert str(caught.value).startswith("7 things are wrong with the configuration:\n")


def test_errors_of_the_file_and_of_flags_are_told_together(load_text: Loader) -> None:
    with pytest.raises(ConfigError) as caught:
        load_text("[limits]\ntools = 0\n", port=-1)
    texts = [error.message for error in caught.value.errors]
    assert len(texts) == 2
    assert any("--port" in text for text in texts)


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ('api_key = "sk-planted"\n', "key_env = "),
        (
            '[[models]]\nname = "m"\napi_key = "sk-planted"\nbackend = { url = "http://h/v1" }\n',
            "key_env = ",
        ),
        ('[[keys]]\nname = "laptop"\nkey = "sk-planted"\n', "`toolwire key NAME`"),
    ],
)
def test_a_key_at_the_wrong_place_is_pointed_to_the_right_one(
    text: str, advice: str, load_text: Loader
) -> None:
    with pytest.raises(ConfigError, match=advice) as caught:
        load_text(text)
    assert "sk-planted" not in str(caught.value)


@pytest.mark.parametrize("name", ["api_key", "key", "token"])
def test_a_key_in_the_file_is_pointed_to_its_variable(name: str, load_text: Loader) -> None:
    text = f'[[models]]\nname = "m"\nbackend = {{ url = "http://h/v1", {name} = "sk-planted" }}\n'
    with pytest.raises(ConfigError, match="key_env = ") as caught:
        load_text(text)
    assert "sk-planted" not in str(caught.value)
