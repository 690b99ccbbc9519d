"""Reads a pass-through body: finds the model, and refuses forbidden parameters."""

import msgspec
from msgspec import Raw

from toolwire.backends.named_body import NamedBody
from toolwire.errors import RequestError
from toolwire.protocol.json_limits import check_width
from toolwire.surfaces.explain import decode
from toolwire.surfaces.json_body import places, read_members
from toolwire.surfaces.passing.multipart import Field, field_head, read_form, write_form

JSON = "application/json"
_MODEL = "model"
_LONGEST_NAME = 256
_CHOOSES_MODEL = frozenset({"models", "model_list", "fallbacks", "engine", "lora_path"})
"""Parameters with which some servers let a client choose another model."""
_NEVER = frozenset(
    {
        # another server, or another key
        "api_base", "base_url", "api_key", "custom_host", "bootstrap_host", "kv_transfer_params",
        # more fields and headers, which LiteLLM adds to what it sends, such as another model
        "extra_body", "extra_headers", "extra_query",
        # a program that the server would run
        "chat_template", "chat_template_kwargs", "custom_logit_processor", "logits_processors",
        "mm_processor_kwargs",
        # changes how the rest of a form is read
        "_charset_",
    }
)  # fmt: skip
"""Parameters that control the server itself, which clients may not set."""

_decode_name = msgspec.json.Decoder(str | None)


def read_json(body: bytes, most_values: int) -> NamedBody:
    """Read a JSON object, whatever its content type. Raises `RequestError`."""
    if body.count(b'"') > most_values:
        check_width(body, "", most_values)  # plain numbers decode fast, however many there are
    members = read_members(body)
    at = places(body, members)
    chooses = _check_names(members)
    model = _json_name(members)
    whole = (body,)
    if _MODEL in members:
        start, end = at[_MODEL]
        return NamedBody(JSON, model, (body[:start],), (body[end:],), whole, chooses=chooses)
    inside = body.index(b"{") + 1
    before, after = (body[:inside], b'"model":'), (b"," if members else b"", body[inside:])
    return NamedBody(JSON, None, before, after, whole, chooses=chooses)


def read_named_form(content_type: str, body: bytes, boundary: str) -> NamedBody:
    """Read a form. It is re-encoded with `boundary`, which clients cannot know."""
    fields = read_form(content_type, body)
    chooses = _check_names([field.name for field in fields])
    named = [number for number, field in enumerate(fields) if field.name == _MODEL]
    if len(named) > 1:
        raise _refused(_MODEL, "is given more than once. Send it once.")
    kind = f"multipart/form-data; boundary={boundary}"
    pieces = tuple(write_form(fields, boundary))
    if not named:
        before, after = (field_head(Field(_MODEL, b""), boundary),), (b"\r\n", *pieces)
        return NamedBody(kind, None, before, after, pieces, str.encode, chooses)
    model = _form_name(fields[named[0]])
    at = 3 * named[0] + 1  # three pieces per field: head, value, line end
    return NamedBody(kind, model, pieces[:at], pieces[at + 1 :], pieces, str.encode, chooses)


def _check_names(names: "dict[str, Raw] | list[str]") -> str:
    """Refuse forbidden parameters. Returns the first name that may choose a model.

    Some servers ignore case, or treat `model[]` as `model`.
    """
    chooses = ""
    for name in names:
        plain = name.casefold().partition("[")[0]
        if plain in _NEVER:
            raise _refused(name, "is not passed on. Leave it out.")
        if plain == _MODEL != name:
            raise _refused(name, "could be taken for 'model'. Leave it out.")
        if plain in _CHOOSES_MODEL:
            chooses = chooses or name
    return chooses


def refuse_choice(name: str) -> RequestError:
    """Return the error for a body that chooses a model other than the route's."""
    return _refused(name, "chooses a model in addition to 'model'. Name one model, in 'model'.")


def _json_name(members: "dict[str, Raw]") -> str | None:
    return _checked(decode(_decode_name, bytes(members.get(_MODEL, b"null")), _MODEL))


def _form_name(field: Field) -> str | None:
    if field.filename is not None:
        raise _refused(_MODEL, "is a file. Send it as text.")
    try:
        return _checked(field.value.decode())
    except UnicodeDecodeError:
        raise _refused(_MODEL, "is not UTF-8. Send the model's name.") from None


def _checked(model: str | None) -> str | None:
    if model is not None and not 1 <= len(model) <= _LONGEST_NAME:
        raise _refused(_MODEL, f"must be a model name of 1 to {_LONGEST_NAME} characters.")
    return model


def _refused(name: str, why: str) -> RequestError:
    shown = name[:100]
    return RequestError(f"Invalid '{shown}': it {why}", param=shown, code="invalid_value")
