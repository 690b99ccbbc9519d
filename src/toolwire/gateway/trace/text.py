"""Encodes a trace as JSON. Without bodies, texts of clients and models are replaced by lengths.

Secrets are masked in every text. A text whose joined pieces contain a secret is written in one
piece, so that the secret is masked as well.
"""

import re
from typing import Any

import msgspec

from toolwire import __version__
from toolwire.backends.base import BackendRequest
from toolwire.backends.dialects import DIALECTS
from toolwire.backends.openai.request import encode_body
from toolwire.gateway.answer.collect import Whole
from toolwire.gateway.repair.findings import Finding
from toolwire.gateway.strategies.recorded import strategy_record
from toolwire.gateway.trace.mask import Mask, in_one_piece, masked_json
from toolwire.gateway.trace.records import AttemptTrace, TurnTrace
from toolwire.protocol.content import text_of
from toolwire.protocol.fragments import CallFragment, Fragment

VERSION = 2
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")


def encode_trace(trace: TurnTrace, *, bodies: bool, redact: Mask) -> bytes:
    """Return the trace as one JSON object."""
    return msgspec.json.encode(_Writer(redact, bodies=bodies).trace(trace), order="deterministic")


class _Writer:
    def __init__(self, redact: Mask, *, bodies: bool) -> None:
        self._redact = redact
        self._bodies = bodies

    def trace(self, trace: TurnTrace) -> dict[str, Any]:
        return {
            "version": VERSION,
            "toolwire": __version__,
            "request_id": trace.request_id,
            "at": trace.at,
            "took": round(trace.took, 6),
            "key": trace.key,
            "bodies": self._bodies,
            "request": {
                "bytes": len(trace.body),
                "body": masked_json(trace.body, self._redact) if self._bodies else None,
                "surface": trace.surface,
                "profile": trace.profile,
            },
            "plan": self._plan(trace),
            "attempts": [self._attempt(attempt) for attempt in trace.attempts],
            "error": self._error(trace.error),
            "gone": trace.gone,
            "usage": trace.usage and [trace.usage.prompt_tokens, trace.usage.completion_tokens],
            "repairs": sorted(map(self._redact, trace.repairs)),
            "retries": trace.retries,
        }

    def _plan(self, trace: TurnTrace) -> dict[str, Any] | None:
        plan = trace.plan
        if plan is None:
            return None
        request, repair_policy = plan.request, plan.repair_policy
        return {
            "model": self._redact(request.model),
            "route": trace.route,
            "stream": request.stream,
            "delivery": plan.delivery,
            "messages": len(request.messages),
            "tools": [self._redact(name) for name in plan.outgoing.tools.tools],
            "tool_choice": request.choice.mode,
            "parallel": request.parallel,
            "repairs": [self._redact(repair) for repair in plan.repairs],
            "rules": repair_policy.rules.names,
            "whole_streams": plan.whole_streams,
            "loop_after": repair_policy.loop_after,
            "repair_history": trace.repair_history,
            "custom_tools": trace.custom_tools,
            "tool_limits": trace.tool_limits,
        }

    def _attempt(self, attempt: AttemptTrace) -> dict[str, Any]:
        return {
            "backend": attempt.backend,
            "strategy": strategy_record(attempt.strategy),
            "at": round(attempt.began, 6),
            "final": attempt.final,
            "resumed": attempt.resumed,
            "told": [
                [message.role, self._text(text_of(message.content))] for message in attempt.told
            ],
            "asked": self._asked(attempt.asked),
            "heard": self._heard(attempt),
            "spans": {
                str(choice): [[s.start, s.end, s.kind, self._why(s.why)] for s in trace.spans]
                for choice, trace in attempt.spans.items()
            },
            "findings": [self._finding(finding) for finding in attempt.findings],
            "repairs": sorted(map(self._redact, attempt.repairs)),
            "done": attempt.done,
            "error": self._error(attempt.error),
            "sent": {
                str(choice): self._whole(whole) for choice, whole in attempt.outcome().items()
            },
        }

    def _asked(self, outgoing: BackendRequest | None) -> str | int | None:
        """Return what the backend was sent, in the form of OpenAI's API, which clients know."""
        if outgoing is None:
            return None
        body = b"".join(encode_body(outgoing, DIALECTS["openai"], None))
        return masked_json(body, self._redact) if self._bodies else len(body)

    def _heard(self, attempt: AttemptTrace) -> list[dict[str, Any]]:
        blocks = [fragments for _, fragments in attempt.heard]
        merged = in_one_piece(blocks, self._redact) if self._bodies else blocks
        return [
            {"at": round(at, 6), "fragments": [self._fragment(fragment) for fragment in fragments]}
            for (at, _), fragments in zip(attempt.heard, merged, strict=True)
        ]

    def _fragment(self, fragment: Fragment) -> dict[str, Any]:
        calls = [self._call(call) for call in fragment.calls]
        usage = fragment.usage
        written = {
            "choice": fragment.choice,
            "text": self._text(fragment.text) if fragment.text else None,
            "reasoning": self._text(fragment.reasoning) if fragment.reasoning else None,
            "calls": calls,
            "finish": fragment.finish,
            "usage": usage and [usage.prompt_tokens, usage.completion_tokens],
            "extras": [[name, self._text(json.decode())] for name, json in fragment.extras],
            "gap": fragment.gap,
        }
        return {name: value for name, value in written.items() if value}

    def _call(self, call: CallFragment) -> dict[str, Any]:
        arguments = call.arguments
        if not isinstance(arguments, str | None):
            arguments = msgspec.json.encode(arguments).decode()
        written = {
            "index": call.index,
            "id": call.id and self._redact(call.id),
            "name": call.name and self._redact(call.name),
            "arguments": arguments if arguments is None else self._text(arguments),
            "json": not isinstance(call.arguments, str | None),
            "custom": call.custom,
        }
        return {
            name: value
            for name, value in written.items()
            if value is not None and value is not False
        }

    def _whole(self, whole: Whole) -> dict[str, Any]:
        return {
            "content": whole.content if whole.content is None else self._text(whole.content),
            "reasoning": whole.reasoning
            if whole.reasoning is None
            else self._text(whole.reasoning),
            "calls": [
                [self._redact(call.call_id), self._redact(call.name), self._text(call.arguments)]
                for call in whole.calls
            ],
            "finish": whole.reason,
        }

    def _finding(self, finding: Finding) -> dict[str, Any]:
        return {
            "code": finding.code,
            "index": finding.index,
            "tool": self._redact(finding.tool),
            "message": self._text(finding.message),
        }

    def _error(self, error: Any) -> dict[str, Any] | None:
        if error is None:
            return None
        return {"code": error.code, "status": error.status, "message": self._text(error.message)}

    def _why(self, why: str) -> str:
        return self._redact(why if self._bodies else _QUOTED.sub("'…'", why))

    def _text(self, text: str) -> str | int:
        """Return a text of a client or a model; only its length if bodies are off."""
        return self._redact(text) if self._bodies else len(text)
