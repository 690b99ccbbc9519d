"""The endpoints: which reply a request gets. Pure: a request and the stage in, a reply out."""

import json
from collections.abc import Callable
from typing import Any

from tests.scripted.chunks import CREATED, Chunk, completion, stream_chunks
from tests.scripted.prompts import read_chat, text_completion
from tests.scripted.record import Recorded
from tests.scripted.reply import Reply, error_reply, json_reply, stream_reply
from tests.scripted.request import ChatRequest
from tests.scripted.stage import Stage
from tests.scripted.variants.base import Exchange

MODELS = ("scripted", "scripted-mini")


def answer_request(stage: Stage, request: Recorded) -> Reply:
    """Find the reply to one request, and record it unless it is about the server itself."""
    path = request.path.partition("?")[0]
    if path.startswith("/_scripted/"):
        return CONTROL.get((request.method, path), _not_found)(stage, request)
    stage.requests.append(request)
    if stage.key is not None and request.headers.get("authorization") != f"Bearer {stage.key}":
        return error_reply(401, "Incorrect API key provided.", code="invalid_api_key")
    if request.method == "POST":
        return _answer_post(stage, request, path)
    if path.startswith("/v1/models/"):
        return _model(stage, request)
    return GETS.get(path, _not_found)(stage, request)


def _answer_post(stage: Stage, request: Recorded, path: str) -> Reply:
    stage.posts += 1
    exchange = Exchange(request, stage.posts)
    if not isinstance(request.json_or_none, dict):
        return error_reply(400, "We could not parse the JSON body of your request.")
    return stage.variant.reply(POSTS.get(path, _not_found)(stage, request), exchange)


def _chat(stage: Stage, request: Recorded) -> Reply:
    return _speak(stage, ChatRequest(request.json), lambda chunk: chunk)


def _speak(stage: Stage, asked: ChatRequest, form: Callable[[Chunk], Chunk]) -> Reply:
    """What the script says, in the form of this endpoint."""
    variant = stage.variant
    chat = variant.ask(asked)
    answer = variant.say(stage.script(chat), chat)
    if not variant.streams(asked=chat.stream):
        return json_reply(variant.whole(form(completion(answer, chat))))
    chunks = variant.chunks([form(chunk) for chunk in stream_chunks(answer, chat)])
    events = [b"data: %s\n\n" % json.dumps(chunk).encode() for chunk in chunks]
    return stream_reply(variant.events([*events, b"data: [DONE]\n\n"]))


def _models(stage: Stage, request: Recorded) -> Reply:
    return json_reply({"object": "list", "data": [_model_record(name) for name in MODELS]})


def _model(stage: Stage, request: Recorded) -> Reply:
    return json_reply(_model_record(request.path.removeprefix("/v1/models/")))


def _model_record(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": CREATED, "owned_by": "scripted"}


def _embeddings(stage: Stage, request: Recorded) -> Reply:
    given = request.json.get("input", "")
    texts = given if isinstance(given, list) else [given]
    data = [
        {"object": "embedding", "index": index, "embedding": [float(len(str(text))), 0.5, -0.5]}
        for index, text in enumerate(texts)
    ]
    usage = {"prompt_tokens": len(texts), "total_tokens": len(texts)}
    model = request.json.get("model", MODELS[0])
    return json_reply({"object": "list", "data": data, "model": model, "usage": usage})


def _completions(stage: Stage, request: Recorded) -> Reply:
    """A prompt that is a conversation is answered by the script; any other is said again."""
    if chat := read_chat(request.json):
        return _speak(stage, chat, text_completion)
    body = request.json
    choice = {"text": body.get("prompt", ""), "index": 0, "logprobs": None, "finish_reason": "stop"}
    record = {"id": "cmpl-scripted", "object": "text_completion", "created": CREATED}
    whole = {**record, "model": body.get("model", MODELS[0]), "choices": [choice]}
    if body.get("stream"):
        return stream_reply([b"data: %s\n\n" % json.dumps(whole).encode(), b"data: [DONE]\n\n"])
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return json_reply({**whole, "usage": usage})


def _not_found(stage: Stage, request: Recorded) -> Reply:
    return error_reply(404, f"Invalid URL ({request.method} {request.path})")


def _show_requests(stage: Stage, request: Recorded) -> Reply:
    shown = [entry.to_json() for entry in stage.requests]
    return json_reply({"now": request.at, "requests": shown})


def _set_stage(stage: Stage, request: Recorded) -> Reply:
    body = request.json
    try:
        stage.set(body.get("variant", "std"), body.get("script", "file_task"))
    except LookupError as error:
        return error_reply(400, str(error))
    return json_reply({"ok": True})


Endpoint = Callable[[Stage, Recorded], Reply]

GETS: dict[str, Endpoint] = {"/v1/models": _models}

POSTS: dict[str, Endpoint] = {
    "/v1/chat/completions": _chat,
    "/v1/completions": _completions,
    "/v1/embeddings": _embeddings,
}

CONTROL: dict[tuple[str, str], Endpoint] = {
    ("GET", "/_scripted/requests"): _show_requests,
    ("POST", "/_scripted/variant"): _set_stage,
}
