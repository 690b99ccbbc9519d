"""Mistakes that a type checker must find: one on each line that says so."""

from toolwire import Client, tool


@tool
def add(a: int, b: int = 1) -> int:
    return a + b


class Shop:
    @tool
    def count(self, item: str) -> int:
        return len(item)


add("one")  # mistake
add(1, c=2)  # mistake
text: str = add(1)  # mistake
Shop().count(5)  # mistake
client = Client()
client.chat("Hi.").final()  # mistake
client.chat("Hi.", stream=True).choices  # mistake  # noqa: B018
client.run("Hi.", limits=5)  # mistake
