"""The file task in the XML dialect Cline 2 speaks when it offers no tools, only a prompt."""

from tests.scripted.answer import Answer
from tests.scripted.request import ChatRequest

STEPS = (
    "<write_to_file>\n<path>hello.py</path>\n<content>\n"
    'print("hello")\n</content>\n</write_to_file>',
    "<read_file>\n<path>hello.py</path>\n</read_file>",
    "<execute_command>\n<command>python3 hello.py</command>\n"
    "<requires_approval>false</requires_approval>\n</execute_command>",
    "<attempt_completion>\n<result>hello.py prints hello.</result>\n</attempt_completion>",
)


def speaks_xml(request: ChatRequest) -> bool:
    """Recognise the prompt that teaches the dialect."""
    prompt = "\n".join(request.texts("system", "developer"))
    return "<write_to_file>" in prompt and "<attempt_completion>" in prompt


def play_xml(request: ChatRequest) -> Answer:
    """Take the first step that the history does not show."""
    said = "\n".join(request.texts("assistant"))
    for step in STEPS:
        tag = step[: step.index(">") + 1]
        if tag not in said:
            return Answer(text=f"Next step.\n\n{step}")
    return Answer(text=STEPS[-1])
