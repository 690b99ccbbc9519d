"""The function-calling contract, as it is written: this file is run by a test, and not changed.

What is around it in `test_contract.py` gives it `client`, `messages` and `my_router`.
"""
# ruff: noqa
# mypy: ignore-errors

import json

tools = [{
  "type": "function",
  "function": {
    "name": "get_weather",
    "description": "Get the weather of a city",
    "parameters": {
      "type": "object",
      "properties": { "city": {"type": "string"}, "unit": {"type": ["string", "null"]} },
      "required": [ "city", "unit" ],
      "additionalProperties": False
    },
    "strict": True,
  }
}]

resp1 = client.chat(
  messages=messages,
  model="openai/gpt-4o-mini",
  tools=tools,
  tool_choice="required", # or "auto"
  temperature=0,
)

assistant_msg = resp1.choices[0].message
tool_calls = assistant_msg.tool_calls

# Append the assistant message with tool_calls before tool outputs
messages.append({
  "role": "assistant",
  "content": assistant_msg.content,
  "tool_calls": [
    {
      "id": tc.id,
      "type": "function",
      "function": {"name": tc.function.name, "arguments": tc.function.arguments},
    }
    for tc in tool_calls
  ],
})
for tc in tool_calls:
    args = json.loads(tc.function.arguments)
    output = my_router(tc.function.name, args)
    messages.append({
        "role": "tool",
        "tool_call_id": tc.id,
        "content": json.dumps(output),
    })

resp2 = client.chat(
  messages=messages,
  model="openai/gpt-4o-mini",
  tools=tools,
  temperature=0,
)
final_text = resp2.choices[0].message.content
