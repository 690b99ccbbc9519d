"""What must not be passed on, as data: paths, methods, and bodies that hide another model's name.

Two models are served, `small` and `big`; `expensive` is one that the backend has, too.
"""

import json
from dataclasses import dataclass, field

JSON = "application/json"
PATHS = (
    # What manages an account or a server.
    "files", "files/1", "files/1/content", "uploads", "batches", "batches/b1/cancel",
    "fine_tuning/jobs", "assistants", "threads/t/runs", "vector_stores", "evals", "containers",
    "organization/admin_api_keys", "organization/users", "dashboard/billing/usage", "realtime",
    "load_lora_adapter", "unload_lora_adapter", "adapters", "key/generate",
    "server_info", "internal/model/load", "sleep", "reset_prefix_cache", "collective_rpc",
    "update_weights", "shutdown", "metrics", "props", "slots/0",
    # What is nearly in the list.
    "audio", "audio/", "audio/voices", "audio/speech/x", "images", "images/x", "completions/",
    "completions/x", "Completions", "COMPLETIONS", "/completions", "./completions", "completions//",
    "%63ompletions", "completions%2f", "completions%00", "completions;x=1", "completions.json",
    "embeddings/../files", "embeddings/..%2ffiles", "chat/../completions", "..", "../v1",
    "chat/completions/x", "chat", "engines/expensive/completions", "v1/completions", "",
)  # fmt: skip
METHODS = (
    "GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PURGE", "CONNECT", "PROPFIND",
    "MKCOL", "SEARCH", "NOTIFY", "LINK",
)  # fmt: skip
LISTED = (
    "completions", "embeddings", "rerank", "reranking", "score", "classify", "pooling", "tokenize",
    "detokenize", "moderations", "audio/speech", "audio/transcriptions", "audio/translations",
    "images/generations", "images/edits", "images/variations",
)  # fmt: skip


@dataclass(frozen=True)
class Body:
    """A body that must be refused, and with which status at least one reader would have it."""

    name: str
    data: bytes
    kind: str = JSON
    status: int = 400
    headers: dict[str, str] = field(default_factory=dict)


def form(*fields: tuple[str, str], boundary: str = "b") -> bytes:
    """A form of text fields; each is what follows `form-data; `, and a value."""
    parts = [
        f"--{boundary}\r\nContent-Disposition: form-data; {h}\r\n\r\n{v}\r\n" for h, v in fields
    ]
    return ("".join(parts) + f"--{boundary}--\r\n").encode()


FORM = "multipart/form-data; boundary=b"
SMALL, LARGE = ('name="model"', "small"), ('name="model"', "expensive")
_ASKED = b'{"model": "expensive", "prompt": "x"}'
_HIDDEN = b'{"model": "small", "prompt": "x"%b}'
BODIES = (
    Body("a model that no route serves", _ASKED, status=404),
    Body("as text", _ASKED, "text/plain", 404),
    Body("without a type", _ASKED, "", 404),
    Body("as a form that it is not", _ASKED, "application/x-www-form-urlencoded", 404),
    Body("as JSON of another name", _ASKED, "application/vnd.api+json", 404),
    Body("as bytes", _ASKED, "application/octet-stream", 404),
    Body("as a form without a boundary", _ASKED, "multipart/form-data; x"),
    Body("as no form", _ASKED, "multipart/form-data", 404),
    Body("as a form", _ASKED, FORM),
    Body("NaN", b'{"model": "expensive", "temperature": NaN}'),
    Body("Infinity", b'{"model": "expensive", "temperature": -Infinity}'),
    Body("NaN deep inside", b'{"model": "expensive", "x": [[{"y": NaN}]]}'),
    Body("a byte order mark", b"\xef\xbb\xbf" + _ASKED),
    Body("bytes behind it", _ASKED + b"x"),
    Body("another object behind it", _ASKED + _ASKED),
    Body("a zero behind it", _ASKED + b"\0"),
    Body("a list", b'{"model": ["expensive"]}'),
    Body("an object", b'{"model": {"id": "expensive"}}'),
    Body("a number", b'{"model": 5}'),
    Body("true", b'{"model": true}'),
    Body("not an object", b'[{"model": "expensive"}]'),
    Body("a string", b'"expensive"'),
    Body("nothing", b""),
    Body("null", b"null"),
    Body("not closed", b'{"model": "expensive"'),
    Body("a comma too many", b'{"model": "expensive",}'),
    Body("single quotes", b"{'model': 'expensive'}"),
    Body("a comment", b'{/* x */"model": "expensive"}'),
    Body("no UTF-8", b'{"model": "expensive", "x": "\xff"}'),
    Body("UTF-16", _ASKED.decode().encode("utf-16-le")),
    Body(
        "UTF-16 with a mark", _ASKED.decode().encode("utf-16"), "application/json; charset=utf-16"
    ),
    Body("UTF-32", _ASKED.decode().encode("utf-32")),
    Body("compressed", b"\x1f\x8b\x08\0" + _ASKED, headers={"content-encoding": "gzip"}),
    Body("a form's text", b"model=expensive&prompt=x", "application/x-www-form-urlencoded"),
    Body(
        "nested too deeply",
        b'{"model": "expensive", "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ),
    Body("an empty name", b'{"model": ""}'),
    Body("a very long name", json.dumps({"model": "x" * 5000}).encode()),
    Body("a name of spaces", b'{"model": " small"}', status=404),
    Body("capitals", b'{"model": "Small"}', status=404),
    Body("the route of all names", b'{"model": "*"}', status=404),
    Body("no model", b'{"prompt": "x"}'),
    Body("no model but null", b'{"model": null, "prompt": "x"}'),
    Body("twice, the first is ours", _HIDDEN % b', "model": "expensive"'),
    Body("twice, the last is ours", b'{"model": "expensive", "model": "small"}'),
    Body("twice, written otherwise", _HIDDEN % b', "\\u006dodel": "expensive"'),
    Body("twice, and the same", _HIDDEN % b', "model": "small"'),
    Body("in capitals beside it", _HIDDEN % b', "Model": "expensive"'),
    Body("in capitals before it", b'{"MODEL": "expensive", "model": "small"}'),
    Body("in capitals alone", b'{"MODEL": "expensive"}'),
    Body("as an array's name beside it", _HIDDEN % b', "model[]": "expensive"'),
    Body("a list of models beside it", _HIDDEN % b', "models": ["expensive"]'),
    Body("fallbacks beside it", _HIDDEN % b', "fallbacks": ["expensive"]'),
    Body("an engine beside it", _HIDDEN % b', "engine": "expensive"'),
    Body("an adapter beside it", _HIDDEN % b', "lora_path": "expensive"'),
    Body("another server", _HIDDEN % b', "api_base": "http://127.0.0.1:1/"'),
    Body("another server, otherwise", _HIDDEN % b', "Base_URL": "http://169.254.169.254/"'),
    Body("another host", _HIDDEN % b', "bootstrap_host": "127.0.0.1"'),
    Body("another key", _HIDDEN % b', "api_key": "sk-x"'),
    Body("a template", _HIDDEN % b', "chat_template": "{{7*7}}"'),
    Body("a template's values", _HIDDEN % b', "chat_template_kwargs": {"a": 1}'),
    Body("a program", _HIDDEN % b', "custom_logit_processor": "x"'),
    Body("form: another model", form(LARGE), FORM, 404),
    Body("form: no model", form(('name="prompt"', "x")), FORM),
    Body("form: two models", form(SMALL, LARGE), FORM),
    Body("form: two models, ours last", form(LARGE, SMALL), FORM),
    Body("form: capitals", form(SMALL, ('name="Model"', "expensive")), FORM),
    Body("form: an array", form(SMALL, ('name="model[]"', "expensive")), FORM),
    Body("form: a file", form(('name="model"; filename="x"', "small")), FORM),
    Body("form: an escape", form(SMALL, (r'name="\model"', "expensive")), FORM),
    Body("form: a percent", form(SMALL, ('name="%6dodel"', "expensive")), FORM),
    Body("form: two names", form(('name="x"; name="model"', "expensive")), FORM),
    Body("form: an encoded name", form(SMALL, ("name*=utf-8''model", "expensive")), FORM),
    Body("form: no name", form(SMALL, ('filename="x"', "expensive")), FORM),
    Body("form: no UTF-8", form(SMALL).replace(b"small", b"\xff"), FORM),
    Body("form: another charset", form(SMALL, ('name="_charset_"', "utf-7")), FORM),
    Body(
        "form: encoded",
        form((SMALL[0] + "\r\nContent-Transfer-Encoding: base64", "c21hbGw=")),
        FORM,
    ),
    Body("form: a folded head", form(('name="x";\r\n name="model"', "expensive")), FORM),
    Body("form: bare line feeds", form(LARGE).replace(b"\r\n", b"\n"), FORM),
    Body("form: not closed", form(SMALL).replace(b"--b--", b""), FORM),
    Body("form: more behind it", form(SMALL) + form(LARGE), FORM),
    Body("form: more before it", b"x\r\n" + form(SMALL), FORM),
    Body("form: two boundaries", form(SMALL), FORM + "; boundary=c"),
    Body("form: another boundary", form(LARGE), "multipart/form-data; boundary=c"),
    Body("form: too many fields", form(*[('name="x"', "y")] * 100, SMALL), FORM),
    Body("form: mixed", form(LARGE), "multipart/mixed; boundary=b"),
)
