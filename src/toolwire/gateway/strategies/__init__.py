"""How a model is given its tools.

| strategy | the backend is sent | its answer is read |
|---|---|---|
| native | the tools | as native calls |
| hybrid | the tools | as native calls, and text is parsed for calls, too |
| prompted | a prompt that describes the tools | as text in the model's format |
| constrained | such a prompt, and a JSON Schema of calls | as text that matches the schema |

`auto` starts with hybrid, and switches to prompted for a backend that does not support tools.
"""
