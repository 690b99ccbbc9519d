"""A conversation in the terminal: turns, approval of calls, and commands such as `/tools`."""

import contextlib
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from toolwire import __version__
from toolwire.backends.embedded.weights import cache_folder
from toolwire.cli.chat.screen import Screen, call_line, printable
from toolwire.client.client import Client
from toolwire.client.errors import ClientError, InvalidArguments
from toolwire.client.events import (
    Call,
    CallFinished,
    CallStarted,
    Deny,
    Event,
    RunFinished,
    TurnFinished,
)
from toolwire.client.tools.toolbox import Toolbox
from toolwire.protocol.events import ReasoningDelta, TextDelta

_HISTORY = "chat_history"
_LINES = 1000
_QUESTION = "  Run {call}? [y]es, [n]o, [a]lways, [e]dit: "


class ChatSession:
    """One conversation. `say` is one turn of the user's; `run` asks for them."""

    def __init__(
        self,
        client: Client,
        model: str,
        tools: Toolbox,
        screen: Screen,
        *,
        system: str | None = None,
        temperature: float | None = None,
        approves_all: bool = False,
    ) -> None:
        self._client = client
        self._model = model
        self._tools = tools
        self._screen = screen
        self._start: list[Any] = [{"role": "system", "content": system}] if system else []
        self._messages = list(self._start)
        self._temperature = temperature
        self._approved: set[str] = set(tools.names) if approves_all else set()
        self._trace: list[str] = []

    def welcome(self, box: Toolbox) -> None:
        """Say who is there."""
        tools = f"{len(box)} tool{'s' if len(box) != 1 else ''}" if len(box) else "no tools"
        self._screen.note(
            f"Toolwire {__version__}: {self._model} at {self._client.base_url}, {tools}. "
            "/help lists the commands, Ctrl-D ends.",
        )

    def run(self) -> None:
        """Ask for the user's words until they end."""
        with _line_history():
            while True:
                try:
                    line = input("> ").strip()
                except EOFError:
                    self._screen.note("")
                    return
                except KeyboardInterrupt:
                    self._screen.note("\n(Ctrl-D or /quit ends)")
                    continue
                if line in ("/quit", "/exit"):
                    return
                self._obey(line)

    def say(self, text: str) -> bool:
        """One turn. It is forgotten if it fails or is interrupted: the conversation stays valid."""
        self._trace = []
        asked = [*self._messages, {"role": "user", "content": text}]
        try:
            with self._client.steps(
                asked,
                self._tools,
                model=self._model,
                approve=self._approve,
                temperature=self._temperature,
            ) as run:
                for event in run:
                    self._show(event)
        except KeyboardInterrupt:
            self._screen.note("(interrupted; this turn is forgotten)")
            return False
        except ClientError as error:
            self._screen.error(f"Error: {error}")
            return False
        finally:
            self._screen.end_turn()
        return True

    def _show(self, event: Event) -> None:
        if isinstance(event, TextDelta):
            self._screen.text(event.text)
        elif isinstance(event, ReasoningDelta):
            self._screen.reasoning(event.text)
        elif isinstance(event, CallStarted):
            self._screen.call_started(event.call)
        elif isinstance(event, CallFinished):
            self._screen.call_finished(event.call, event.result)
            self._trace.append(_call_trace(event))
        elif isinstance(event, TurnFinished):
            self._trace.append(_turn_trace(event))
        elif isinstance(event, RunFinished):
            self._messages = event.result.messages
            if event.result.stopped_by:
                self._screen.note(f"(the limit of {event.result.stopped_by} was reached)")

    def _approve(self, call: Call) -> "bool | Deny | Mapping[str, Any]":
        if call.name in self._approved:
            return True
        if not sys.stdin.isatty():
            return Deny("there is nobody to approve this call")
        while True:
            said = self._screen.ask(_QUESTION.format(call=call_line(call))).lower()
            if said in ("y", "yes"):
                return True
            if said in ("n", "no", ""):
                return False
            if said in ("a", "always"):
                self._approved.add(call.name)
                return True
            if said in ("e", "edit") and (changed := self._edit(call)) is not None:
                return changed

    def _edit(self, call: Call) -> Mapping[str, Any] | None:
        """Other arguments, once they fit; None to be asked again."""
        self._screen.note(f"  {printable(msgspec.json.encode(call.arguments).decode())}")
        text = self._screen.ask("  New arguments, as JSON: ")
        try:
            self._tools[call.name].convert(text)
            changed: dict[str, Any] = msgspec.json.decode(text or "{}")
        except (InvalidArguments, msgspec.MsgspecError) as error:
            self._screen.error(f"  {error}")
            return None
        return changed

    def _obey(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        if not line:
            return
        if not line.startswith("/"):
            self.say(line)
        elif word in _COMMANDS:
            _COMMANDS[word][1](self, rest.strip())
        else:
            self._screen.error(f"There is no command {word}. /help lists them.")

    def show_help(self, _: str) -> None:
        """List the commands."""
        lines = [f"  {word:<10} {said}" for word, (said, _) in _COMMANDS.items()]
        self._screen.note("\n".join([*lines, "  /quit      end (or Ctrl-D)"]))

    def show_tools(self, _: str) -> None:
        """List the tools."""
        lines = [f"  {one.name}: {one.description.partition(chr(10))[0]}" for one in self._tools]
        self._screen.note("\n".join(lines) or "There are no tools. Give some with --tools FILE.")

    def show_trace(self, _: str) -> None:
        """Show what happened in the last turn."""
        self._screen.note("\n".join(self._trace) or "Nothing has happened yet.")

    def show_history(self, _: str) -> None:
        """Show the conversation."""
        lines = [_message_line(message) for message in self._messages]
        self._screen.note("\n".join(lines) or "Nothing has been said yet.")

    def clear(self, _: str) -> None:
        """Start a new conversation."""
        self._messages = list(self._start)
        self._screen.note("A new conversation begins.")

    def change_model(self, name: str) -> None:
        """Go on with another model, or list them."""
        try:
            if name:
                self._model = name
                self._screen.note(f"The model is {name} from here on.")
            else:
                self._screen.note("\n".join(self._client.models()))
        except ClientError as error:
            self._screen.error(f"Error: {error}")


_COMMANDS: dict[str, tuple[str, Callable[[ChatSession, str], None]]] = {
    "/tools": ("the tools the model has", ChatSession.show_tools),
    "/trace": (
        "what happened in the last turn: requests, calls, times, tokens",
        ChatSession.show_trace,
    ),
    "/history": ("the conversation so far", ChatSession.show_history),
    "/clear": ("begin a new conversation", ChatSession.clear),
    "/model": ("list the models, or change to another: /model NAME", ChatSession.change_model),
    "/help": ("this list", ChatSession.show_help),
}


def _call_trace(event: CallFinished) -> str:
    result = event.result
    word = "failed" if result.is_error else "returned"
    text = result.text.replace("\n", " ")[:200]
    return f"  {call_line(event.call)} {word} in {result.seconds:.2f} s: {text}"


def _turn_trace(event: TurnFinished) -> str:
    usage, choice = event.answer.usage, event.answer.choices[0]
    tokens = f"{usage.prompt_tokens} + {usage.completion_tokens} tokens" if usage else "no usage"
    calls = len(event.answer.tool_calls)
    said = f"{calls} call{'s' if calls != 1 else ''}" if calls else "text"
    notes = [
        f"; {name.removeprefix('toolwire-')}: {value}"
        for name, value in event.answer.headers.items()
        if name.startswith("toolwire-")
    ]
    line = f"request {event.turn}: {said}, finish reason {choice.finish_reason}, {tokens}"
    return line + "".join(notes)


def _message_line(message: Any) -> str:
    plain = msgspec.to_builtins(message)
    calls = plain.get("tool_calls") or ()
    named = [f"calls {one['function']['name']}({one['function']['arguments']})" for one in calls]
    said = [str(plain["content"])] if plain.get("content") else []
    return f"  {plain['role']}: {' '.join([*said, *named])}"


@contextlib.contextmanager
def _line_history() -> Any:
    """Lines of earlier chats, by the arrow keys, where Python has readline."""
    try:
        import readline  # noqa: PLC0415 - not on every system
    except ImportError:
        yield
        return
    path = Path(cache_folder(os.environ)) / _HISTORY
    with contextlib.suppress(OSError):
        readline.read_history_file(path)
    readline.set_history_length(_LINES)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            readline.write_history_file(path)
            path.chmod(0o600)
