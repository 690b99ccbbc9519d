"""A scripted backend for the tests: a real OpenAI-compatible HTTP server that says what it is told.

A *script* decides what the model says (`Answer`); a *variant* decides how that is written on the
wire, and can be wrong in every way a backend is. The two never know each other. No part of it
knows Toolwire. In a test: `with ScriptedServer(variant="norole", script="echo") as backend: ...`
"""

from tests.scripted.answer import Answer, Call, Usage
from tests.scripted.record import Recorded
from tests.scripted.server import ScriptedServer
from tests.scripted.variants import VARIANTS

__all__ = ["VARIANTS", "Answer", "Call", "Recorded", "ScriptedServer", "Usage"]
