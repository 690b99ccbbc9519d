"""What is done about invalid calls."""

from typing import Annotated, Literal

import msgspec

from toolwire.server.config import values
from toolwire.server.config.settings.option import Option


class Repair(msgspec.Struct, frozen=True):
    """What to do about calls that do not match their tool's schema: see [repairs](repairs.md)."""

    off: Annotated[
        tuple[str, ...],
        Option("names of rules to disable", parse=values.rules),
    ] = ()
    ask_again: Annotated[
        int, Option("how often the model is told what is wrong and asked again", 0, 5)
    ] = 1
    streams: Annotated[
        Literal["auto", "live", "whole"],
        Option(
            "when calls are streamed: `live`, as the model writes them; `whole`, once they are "
            "complete and checked, so that they can be repaired, asked for again, or made by "
            "another attempt if the backend fails; `auto`, live for clients that show arguments as "
            "they arrive, whole for others"
        ),
    ] = "auto"
    loop_after: Annotated[
        int,
        Option("number of identical invalid calls before the model is warned; 0: never", 0, 100),
    ] = 3
