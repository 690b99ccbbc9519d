"""Which variants break which client when no gateway is between: where `breaks` comes from.

`python -m tests.e2e.clients.matrix NAME [VARIANT ...]`, one line per variant.
"""

import argparse
import sys
from collections.abc import Sequence

from tests.e2e.clients.install import install
from tests.e2e.clients.registry import select
from tests.e2e.clients.run import run_client
from tests.scripted import VARIANTS, ScriptedServer


def main(argv: Sequence[str] | None = None) -> None:
    """Run each client under each variant and say how it went."""
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.clients.matrix")
    parser.add_argument("names", metavar="NAME[,NAME ...]", help="clients or groups")
    parser.add_argument("variants", nargs="*", metavar="VARIANT", help="all unless named")
    options = parser.parse_args(argv)
    with ScriptedServer() as backend:
        for client in select(options.names):
            install(client)
            for variant in options.variants or VARIANTS:
                backend.use(variant)
                run = run_client(client, backend.url)
                asked = sum(request.method == "POST" for request in backend.requests)
                sys.stdout.write(f"{variant:22} {run}, {asked} requests\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
