"""Which variants break which client: `python -m tests.e2e.clients.matrix NAME [VARIANT ...]`.

Without a gateway between, this is where `breaks.py` comes from; with `--through-toolwire` it
shows what is healed. One line per variant.
"""

import argparse
import sys
from collections.abc import Iterable, Sequence
from contextlib import nullcontext

from tests.e2e.clients.client import Client
from tests.e2e.clients.install import install
from tests.e2e.clients.registry import select
from tests.e2e.clients.run import run_client
from tests.e2e.gateway.process import running
from tests.scripted import VARIANTS, ScriptedServer


def main(argv: Sequence[str] | None = None) -> None:
    """Run each client under each variant and say how it went."""
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.clients.matrix")
    parser.add_argument("names", metavar="NAME[,NAME ...]", help="clients or groups")
    parser.add_argument("variants", nargs="*", metavar="VARIANT", help="all unless named")
    parser.add_argument("--through-toolwire", action="store_true")
    options = parser.parse_args(argv)
    with ScriptedServer() as backend:
        between = running("--upstream", backend.url) if options.through_toolwire else nullcontext()
        with between as gateway:
            for client in select(options.names):
                install(client)
                _try(client, (gateway or backend).url, backend, options.variants or VARIANTS)


def _try(client: Client, url: str, backend: ScriptedServer, variants: Iterable[str]) -> None:
    for variant in variants:
        backend.use(variant)
        run = run_client(client, url)
        asked = sum(request.method == "POST" for request in backend.requests)
        sys.stdout.write(f"{variant:22} {run}, {asked} requests\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
