"""Applies the environment and the command line to a configuration from the file.

A flag overrides a variable, and a variable overrides the file, for each setting. An upstream or a
model file given here replaces the route "*"; other models of the file stay. If there is no model at
all, the embedded one is used.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from toolwire.backends.templates.chat_template import ChatTemplate
from toolwire.server.access import auth
from toolwire.server.config.aliases import with_aliases
from toolwire.server.config.fields import (
    ConfigProblem,
    Gathered,
    from_text,
    setting_of,
    settings_of,
    value,
)
from toolwire.server.config.models import key_from, template_from, with_names
from toolwire.server.config.secret import Secret
from toolwire.server.config.settings import BackendConfig, ClientKey, Config, RouteConfig
from toolwire.server.config.values import EMBEDDED

SECTIONS = (
    "listen",
    "limits",
    "timeouts",
    "retries",
    "repair",
    "log",
    "health",
    "trace",
    "embedded",
    "sessions",
    "native",
)
UPSTREAM_FLAGS = (
    "upstream",
    "upstream_key_env",
    "upstream_dialect",
    "upstream_mode",
    "upstream_format",
    "chat_template",
)


def with_overrides(config: Config, env: Mapping[str, str], flags: Mapping[str, Any]) -> Config:
    """Apply every variable and flag that names a setting or an upstream."""
    gathered = Gathered()
    for section in SECTIONS:
        record = getattr(config, section)
        with gathered:
            changed = _changes(type(record), env, flags)
            config = replace(config, **{section: replace(record, **changed)})
    gathered.settle()
    config = _with_embedded(_with_upstream(config, env, flags), env, flags)
    config = with_aliases(config, env, flags)
    return _with_client_key(config, env)


def known_flags() -> set[str]:
    """Return the names that `flags` may contain."""
    records = (type(getattr(Config(), section)) for section in SECTIONS)
    own = {setting.option.flag for record in records for setting in settings_of(record)}
    return (own - {""}).union(UPSTREAM_FLAGS, ("model_alias",))


def _changes(cls: type[Any], env: Mapping[str, str], flags: Mapping[str, Any]) -> dict[str, Any]:
    changed, gathered = {}, Gathered()
    for setting in settings_of(cls):
        variable, flag = setting.option.env, setting.option.flag
        with gathered:
            if flags.get(flag) is not None:
                changed[setting.name] = value(setting, flags[flag], (), _as_flag(flag))
            elif env.get(variable):
                given = from_text(setting, env[variable])
                changed[setting.name] = value(setting, given, (), variable)
    gathered.settle()
    return changed


def _with_upstream(config: Config, env: Mapping[str, str], flags: Mapping[str, Any]) -> Config:
    urls, source = flags.get("upstream"), "--upstream"
    if not urls:
        urls, source = env.get("TOOLWIRE_UPSTREAM", "").split(), "TOOLWIRE_UPSTREAM"
    if not urls:
        for flag in UPSTREAM_FLAGS:
            if flags.get(flag):
                raise ConfigProblem(
                    (), f"{_as_flag(flag)} is for the server of --upstream: give both"
                )
        return config
    url = setting_of(BackendConfig, "url")
    common: dict[str, Any] = {
        "dialect": _of_upstream(BackendConfig, "dialect", env, flags),
        "key": _upstream_key(env, flags),
        "chat_template": _upstream_template(env, flags),
    }
    backends = [BackendConfig(url=value(url, text, (), source), **common) for text in urls]
    route = {name: _of_upstream(RouteConfig, name, env, flags) for name in ("mode", "format")}
    return _with_any(config, backends, **route)


def _with_embedded(config: Config, env: Mapping[str, str], flags: Mapping[str, Any]) -> Config:
    flag, upstream = flags.get("gguf"), flags.get("upstream")
    if flag and upstream:
        raise ConfigProblem(
            (), "--gguf and --upstream: each serves every model name, so give only one"
        )
    if config.models and not flag and (upstream or not env.get("TOOLWIRE_GGUF")):
        return config
    # Not every model file has a chat template with tools.
    return _with_any(config, [BackendConfig(url=EMBEDDED)], mode="auto")


def _with_any(config: Config, backends: list[BackendConfig], **settings: Any) -> Config:
    route = RouteConfig(name="*", backends=with_names(backends), **settings)
    return replace(config, models=(*(m for m in config.models if m.name != "*"), route))


def _of_upstream(
    cls: type[Any], name: str, env: Mapping[str, str], flags: Mapping[str, Any]
) -> Any:
    """Return a setting of the server, or of its models."""
    setting, flag = setting_of(cls, name), f"upstream_{name}"
    given, source = flags.get(flag), _as_flag(flag)
    if not given:
        source = f"TOOLWIRE_{flag.upper()}"
        given = env.get(source)
    return value(setting, given, (), source) if given else setting.default


def _upstream_template(env: Mapping[str, str], flags: Mapping[str, Any]) -> ChatTemplate | None:
    path, source = flags.get("chat_template"), "--chat-template"
    if not path:
        path, source = env.get("TOOLWIRE_CHAT_TEMPLATE"), "TOOLWIRE_CHAT_TEMPLATE"
    return template_from(path, Path(), (), source) if path else None


def _upstream_key(env: Mapping[str, str], flags: Mapping[str, Any]) -> Secret | None:
    variable = flags.get("upstream_key_env")
    if variable:
        return key_from(variable, env, (), "--upstream-key-env")
    if env.get("TOOLWIRE_UPSTREAM_KEY"):
        return key_from("TOOLWIRE_UPSTREAM_KEY", env, (), "TOOLWIRE_UPSTREAM_KEY")
    return None


def _with_client_key(config: Config, env: Mapping[str, str]) -> Config:
    plain = env.get("TOOLWIRE_API_KEY", "").strip()
    if not plain:
        return config
    if not auth.is_usable(plain):
        raise ConfigProblem((), "TOOLWIRE_API_KEY: use visible ASCII without spaces as a key")
    key = ClientKey(name="TOOLWIRE_API_KEY", sha256=auth.hash_key(plain))
    return replace(config, keys=(*config.keys, key))


def _as_flag(name: str) -> str:
    return "--" + name.replace("_", "-")
