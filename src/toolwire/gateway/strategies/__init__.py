"""How a model is given its tools.

| strategy | the backend is sent | its answer is read |
|---|---|---|
| native | the tools | as native calls |
| hybrid | the tools | as native calls, and calls written as text are found, too |
| prompted | a prompt that describes the tools | as text in the model's format |
| constrained | such a prompt, and a JSON Schema of calls | as text that fits the schema |

`auto` begins with hybrid, and goes over to prompted for a backend that turns out to have no tools.
"""
