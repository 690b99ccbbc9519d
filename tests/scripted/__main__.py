"""`python -m tests.scripted`: the scripted backend as a process of its own."""

import argparse
import asyncio
import json
import signal
import sys
from typing import Any

from tests.scripted.server import ScriptedServer
from tests.scripted.variants import VARIANTS


def main() -> None:
    """Serve until interrupted, or list the variants."""
    options = _options().parse_args()
    if options.list:
        sys.stdout.write(_table())
        return
    asyncio.run(_serve(options))


async def _serve(options: argparse.Namespace) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    script = _script(options.script)
    async with ScriptedServer(
        options.variant, script, key=options.key, port=options.port
    ) as server:
        sys.stdout.write(f"listening on {server.url}\n")
        sys.stdout.flush()
        await stop.wait()


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.scripted", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--variant", default="std", help="NAME, NAME:ARG or several with +")
    parser.add_argument("--script", default="file_task", help="a name or a JSON value")
    parser.add_argument("--key", help="demand this API key")
    parser.add_argument("--list", action="store_true", help="list the variants and exit")
    return parser


def _script(text: str) -> Any:
    return json.loads(text) if text.startswith(("{", "[")) else text


def _table() -> str:
    width = max(len(name) for name in VARIANTS)
    return "".join(f"{name:{width}}  {kind.__doc__}\n" for name, kind in VARIANTS.items())


main()
