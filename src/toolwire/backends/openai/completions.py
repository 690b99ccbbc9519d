"""A server with only `/completions`: prompts are rendered with the model's chat template."""

from functools import partial
from typing import Any

from toolwire.backends.base import Answer, BackendRequest
from toolwire.backends.dialects import Dialect
from toolwire.backends.http import HttpPool
from toolwire.backends.openai.backend import OpenAiHttpBackend
from toolwire.backends.openai.completions_answer import OpenedReasoning, ReasoningAnswer
from toolwire.backends.openai.completions_request import completions_dialect, encode_completion
from toolwire.backends.openai.params import Params, template_switch
from toolwire.backends.openai.refusal import lasting
from toolwire.backends.templates.chat_template import ChatTemplate
from toolwire.backends.templates.messages import folded, template_messages
from toolwire.backends.templates.process import TemplateFailed, TemplateProcess, TemplateRefused
from toolwire.backends.templates.turn_end import turn_end
from toolwire.errors import Place, ToolsRefused, UpstreamRefused
from toolwire.protocol.requests import ChatMessage, Request
from toolwire.protocol.tools import NO_TOOLS


class CompletionsBackend(OpenAiHttpBackend):
    """Sends rendered prompts to one base URL. Must be closed: it runs a template process."""

    endpoint = "/completions"
    tells = False
    advice = (
        "Check its base URL, which usually ends in /v1; if it has /chat/completions, leave "
        "'chat_template' (--chat-template) out."
    )

    def __init__(
        self,
        name: str,
        pool: HttpPool,
        dialect: Dialect,
        template: ChatTemplate,
        *,
        opened_reasoning: OpenedReasoning,
        **options: Any,
    ) -> None:
        self.knows = template.capabilities
        super().__init__(name, pool, dialect, **options)
        self.template = template
        self._opened_reasoning = opened_reasoning
        self._process = TemplateProcess(template.source)
        self._turn_end: str | None = None

    def _speak(self, dialect: Dialect) -> None:
        super()._speak(completions_dialect(dialect))

    async def open(self, outgoing: BackendRequest) -> Answer:
        """See `Backend.open`."""
        if outgoing.tools.tools:
            raise ToolsRefused(
                "A prompt has no tools of its own. "
                'Give the route of this model mode = "auto" or "prompted".'
            )
        prompt = await self.prompt(outgoing)
        opening, closing = self._opened_reasoning(prompt)
        if outgoing.constraint is not None:
            # A constrained answer cannot close the reasoning itself.
            prompt, opening = prompt + closing, ""
        if self._turn_end is None:
            self._turn_end = await turn_end(self.template, partial(self._render, asked=False))
        body = encode_completion(outgoing, prompt, self._dialect, self._model, stop=self._turn_end)
        answer = await self._send([body], stream=outgoing.request.stream)
        return ReasoningAnswer(answer, opening) if opening else answer

    async def prompt(self, outgoing: BackendRequest) -> str:
        """Render the conversation with the chat template. Raises `UpstreamError`."""
        messages = template_messages(outgoing.messages)
        thinking = outgoing.request.sampling.thinking
        switch = {} if thinking is None else template_switch(thinking)
        try:
            try:
                prompt = await self._render(messages, switch)
                if _is_dropped(messages, prompt):
                    # A template without a system role may silently drop the message.
                    prompt = await self._with_system(messages, switch, prompt)
            except TemplateRefused:
                # Not every template has a system role, or accepts roles in any order.
                prompt = await self._render(folded(messages), switch)
        except TemplateRefused as error:
            words = self._redact(str(error), 500)
            text = f"The model's chat template refuses this conversation: {words}"
            raise UpstreamRefused(text, status=400, place=Place("messages")) from None
        except TemplateFailed as error:
            words = self._redact(str(error), 500)
            raise lasting(
                f"The chat template of the backend '{self.name}' cannot be used: {words}. "
                "Check 'chat_template' (--chat-template), or give it the model's own."
            ) from None
        bos = self.template.bos if self.template.adds_bos else ""
        return prompt.removeprefix(bos)

    async def _with_system(
        self, messages: list[dict[str, Any]], switch: Params, prompt: str
    ) -> str:
        """Move a dropped system prompt into the first user message, if that keeps it."""
        try:
            told = await self._render(folded(messages), switch)
        except TemplateRefused:
            return prompt
        return prompt if _is_dropped(messages, told) else told

    async def _render(
        self, messages: list[dict[str, Any]], switch: Params | None = None, *, asked: bool = True
    ) -> str:
        return await self._process.render(
            {
                "messages": messages,
                # Templates test these with `is none`, which is false for undefined values.
                "tools": None,
                "documents": None,
                "add_generation_prompt": asked,
                "bos_token": self.template.bos,
                "eos_token": self.template.eos,
                **(switch or {}),
            }
        )

    async def check(self) -> str:
        """See `Backend.check`."""
        messages = (ChatMessage("system", "Be brief."), ChatMessage("user", "Hello"))
        await self.prompt(BackendRequest(Request("", messages), messages, NO_TOOLS))
        return "prompts are rendered with the chat template"

    async def aclose(self) -> None:
        """See `Backend.aclose`. Also ends the template process."""
        self._process.close()
        await super().aclose()


def _is_dropped(messages: list[dict[str, Any]], prompt: str) -> bool:
    """Whether the rendered prompt lacks a system prompt."""
    texts = (message["content"].strip() for message in messages if message["role"] == "system")
    return any(text not in prompt for text in texts)
