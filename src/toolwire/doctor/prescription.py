"""Writes a diagnosis as a command and as lines of `toolwire.toml`."""

import json

from toolwire.doctor.diagnosis import AdvisedSetting, Diagnosis
from toolwire.doctor.facts import ServerFacts


def command_for(
    facts: ServerFacts, setting: AdvisedSetting, *, key_env: str = "", template: str = ""
) -> str:
    """The command that starts a Toolwire with this setting."""
    words = ["toolwire serve", f"--upstream {facts.url}"]
    if key_env:
        words.append(f"--upstream-key-env {key_env}")
    if setting.mode != "auto":
        words.append(f"--upstream-mode {setting.mode}")
    if setting.format:
        words.append(f"--upstream-format {setting.format}")
    if template:
        words.append(f"--chat-template {template}")
    return " ".join(words)


def toml_for(
    facts: ServerFacts, setting: AdvisedSetting, *, key_env: str = "", template: str = ""
) -> str:
    """The same as lines of a file."""
    lines = ["[[models]]", 'name = "*"                     # every model of this server']
    if setting.mode != "auto":
        lines.append(f"mode = {_quoted(setting.mode)}")
    if setting.format:
        lines.append(f"format = {_quoted(setting.format)}")
    lines += ["[[models.backends]]", f"url = {_quoted(facts.url)}"]
    if facts.kind:
        lines.append(f"dialect = {_quoted(facts.kind)}")
    if key_env:
        lines.append(f"key_env = {_quoted(key_env)}    # the NAME of the variable with the key")
    if template:
        lines.append(f"chat_template = {_quoted(template)}")
    return "\n".join(lines) + "\n"


def file_for(
    facts: ServerFacts | None, diagnosis: Diagnosis | None, *, key_env: str = "", template: str = ""
) -> str:
    """A whole, commented `toolwire.toml`; without facts, for the embedded model."""
    if facts is None:
        found, models = _NO_SERVER, _EMBEDDED
    else:
        setting = diagnosis.setting if diagnosis is not None else None
        found = _found(facts, diagnosis)
        models = toml_for(facts, setting or AdvisedSetting(), key_env=key_env, template=template)
    return f"{_HEAD}\n{found}{models}{_TAIL}"


def _found(facts: ServerFacts, diagnosis: Diagnosis | None) -> str:
    version = f" {facts.version}" if facts.version else ""
    lines = [f"{facts.name}{version} at {facts.url}, with {len(facts.models)} models."]
    if facts.model:
        lines.append(f"Tried with the model {facts.model}.")
    if facts.format is not None:
        lines.append(f"Its calls are written as '{facts.format.format}': {facts.format.reason}.")
    if diagnosis is not None:
        lines.append(diagnosis.cause)
        if diagnosis.server_flags:
            lines.append(f"The server would parse calls itself with: {diagnosis.server_flags}")
        if not diagnosis.works and diagnosis.setting is None:
            lines.append("No setting was found with which calls arrive.")
    return "".join(f"# {' '.join(line.split())}\n" for line in lines)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


_HEAD = """\
# Toolwire's configuration. `toolwire check` validates it and tries each backend,
# `toolwire serve` uses it if it is in the current folder.
"""
_NO_SERVER = "# No model server was found on this machine: the embedded model is served.\n"
_EMBEDDED = """\
[[models]]
name = "*"                     # any model name
backend = { url = "embedded:" }
"""
_TAIL = """
[listen]
host = "127.0.0.1"             # to let other machines in, use "0.0.0.0" and add [[keys]]
port = 8181

# [[keys]]                     # `toolwire key NAME` makes one
# name = "laptop"
# sha256 = "..."

# [log]
# level = "info"               # debug, info, warning, error
# format = "text"              # or json

# [trace]
# dir = "traces"               # one file per request, to find out what happened
"""
