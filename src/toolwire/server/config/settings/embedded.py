"""The model inside the process."""

from pathlib import Path
from typing import Annotated

import msgspec

from toolwire.server.config.settings.option import Option


class Embedded(msgspec.Struct, frozen=True):
    """The embedded model, used by a route with `backend = { url = "embedded:" }`."""

    gguf: Annotated[
        Path | None,
        Option(
            "model file; default: a very small model that is downloaded once",
            parse=Path.expanduser,
            env="TOOLWIRE_GGUF",
            flag="gguf",
        ),
    ] = None
    ctx: Annotated[
        int,
        Option(
            "context size in tokens; 0: as the model was trained, up to 16384",
            0,
            10_000_000,
            env="TOOLWIRE_CTX",
            flag="ctx",
        ),
    ] = 0
    threads: Annotated[
        int,
        Option(
            "number of threads; 0: half of the cores",
            0,
            512,
            env="TOOLWIRE_THREADS",
            flag="threads",
        ),
    ] = 0
    warm_up: Annotated[
        bool,
        Option(
            "read a first prompt at start, until a request comes, so that the first answer does "
            "not take longer than later ones",
            env="TOOLWIRE_WARM_UP",
        ),
    ] = True
