"""Variants in which the backend refuses or fails with an HTTP reply.

Those that are said to happen once happen to the first POST; `:N` and `:always` change that.
"""

from typing import ClassVar

from tests.scripted.reply import Reply, error_body, error_reply, json_reply, text_reply
from tests.scripted.variants.base import Exchange, Variant

OVERLOADED = "The server is overloaded, please try again later."
RATE_LIMITED = "Rate limit reached for requests."


class _Failure(Variant):
    """Replies with a failure instead of the answer."""

    default_arg = "1"

    def reply(self, reply: Reply, exchange: Exchange) -> Reply:
        return self.fail(exchange) if self.happens(exchange) else reply

    def fail(self, exchange: Exchange) -> Reply:
        """Make the failing reply."""
        raise NotImplementedError


class _Lasting(_Failure):
    default_arg = "always"


class Err401(_Lasting, name="err401"):
    """Always 401, in OpenAI's form."""

    def fail(self, exchange: Exchange) -> Reply:
        return error_reply(401, "Incorrect API key provided.", code="invalid_api_key")


class Err400(_Lasting, name="err400"):
    """Always 400, in OpenAI's form, with a param."""

    def fail(self, exchange: Exchange) -> Reply:
        return error_reply(
            400, "Invalid value: 'x'.", param="messages[0].role", code="invalid_value"
        )


class Err404(_Lasting, name="err404"):
    """Always 404: the model does not exist."""

    def fail(self, exchange: Exchange) -> Reply:
        return error_reply(404, "The model 'x' does not exist.", code="model_not_found")


class ErrPlain(_Lasting, name="err_plain"):
    """Always 400 with a text/plain body."""

    def fail(self, exchange: Exchange) -> Reply:
        return text_reply(b"scripted plain failure", "text/plain", 400)


class ErrString(_Lasting, name="err_string"):
    """Always 400 with `{"error": "a string"}`."""

    def fail(self, exchange: Exchange) -> Reply:
        return json_reply({"error": "scripted string failure"}, 400)


class ErrDetail(_Lasting, name="err_detail"):
    """Always 422 with FastAPI's `{"detail": [...]}`."""

    def fail(self, exchange: Exchange) -> Reply:
        detail = {"type": "missing", "loc": ["body", "messages"], "msg": "scripted detail failure"}
        return json_reply({"detail": [detail]}, 422)


class ErrEmpty(_Lasting, name="err_empty"):
    """Always 500 with no body at all."""

    def fail(self, exchange: Exchange) -> Reply:
        return text_reply(b"", "text/plain", 500)


class ContextLength(_Lasting, name="ctxlen"):
    """Always 400 `context_length_exceeded`."""

    def fail(self, exchange: Exchange) -> Reply:
        message = "This model's maximum context length is 8192 tokens, but you gave more."
        return error_reply(400, message, param="messages", code="context_length_exceeded")


class Err429(_Failure, name="err429"):
    """Once 429 with `Retry-After: 1`."""

    wait: ClassVar[str] = "1"

    def fail(self, exchange: Exchange) -> Reply:
        body = error_body(RATE_LIMITED, type="requests", code="rate_limit_exceeded")
        return json_reply(body, 429, (("retry-after", self.wait),))


class Err429Always(Err429, name="err429_always"):
    """Always 429 with `Retry-After: 1`."""

    default_arg = "always"


class Err429Retry7(Err429, name="err429_retry7"):
    """Always 429 with `Retry-After: 7`."""

    default_arg = "always"
    wait = "7"


class Err500(_Failure, name="err500"):
    """Once 500, in OpenAI's form."""

    status: ClassVar[int] = 500

    def fail(self, exchange: Exchange) -> Reply:
        return error_reply(self.status, OVERLOADED, type="server_error")


class Err500Always(Err500, name="err500_always"):
    """Always 500, in OpenAI's form."""

    default_arg = "always"


class Err503(Err500, name="err503"):
    """Once 503, in OpenAI's form."""

    status = 503


class Html502(_Failure, name="html502"):
    """Once 502 with an HTML page, as a proxy in front of the backend gives."""

    status: ClassVar[int] = 502

    def fail(self, exchange: Exchange) -> Reply:
        page = b"<html><head><title>Bad Gateway</title></head><body>nginx</body></html>"
        return text_reply(page, "text/html", self.status)


class Html503(Html502, name="html503"):
    """Once 503 with an HTML page."""

    status = 503


class Html200(_Lasting, name="html200"):
    """Always 200 with an HTML page instead of an answer."""

    def fail(self, exchange: Exchange) -> Reply:
        return text_reply(b"<html><body>Welcome!</body></html>", "text/html")


class GarbageJson(_Lasting, name="garbage_json"):
    """Always 200 with a JSON body that is broken off."""

    def fail(self, exchange: Exchange) -> Reply:
        return text_reply(b'{"id": "chatcmpl-1", "choices": [{"mess', "application/json")


class Error200(_Lasting, name="err200"):
    """Always 200 with an error body instead of an answer."""

    def fail(self, exchange: Exchange) -> Reply:
        return json_reply(error_body(OVERLOADED, type="server_error"))


class Empty200(_Failure, name="empty200"):
    """Once 200 as an event stream without one event (or an empty JSON body)."""

    def reply(self, reply: Reply, exchange: Exchange) -> Reply:
        if not self.happens(exchange):
            return reply
        return text_reply(b"", dict(reply.headers)["content-type"])


class ErrKey(_Lasting, name="err_key"):
    """Always an error (401, or `:STATUS`) whose text holds the key that was presented."""

    default_arg = "401"

    def reply(self, reply: Reply, exchange: Exchange) -> Reply:
        key = exchange.key
        message = f"Incorrect API key provided: {key}. The request had Authorization: Bearer {key}"
        return error_reply(int(self.arg), message, code="invalid_api_key")


class Redirect(_Lasting, name="redirect"):
    """Always 302 to another host, or to the URL after `:`."""

    default_arg = "http://localhost:9/v1/chat/completions"

    def reply(self, reply: Reply, exchange: Exchange) -> Reply:
        return text_reply(b"", "text/plain", 302, (("location", self.arg),))
