"""Where Toolwire listens, and which clients it knows."""

from pathlib import Path
from typing import Annotated, Literal

import msgspec

from toolwire.server.config import values
from toolwire.server.config.settings.option import Option


class Listen(msgspec.Struct, frozen=True):
    """Where Toolwire listens."""

    host: Annotated[
        str, Option("address to listen on", parse=values.host, env="TOOLWIRE_HOST", flag="host")
    ] = "127.0.0.1"
    port: Annotated[
        int,
        Option("port; 0 lets the system choose", 0, 65535, env="TOOLWIRE_PORT", flag="port"),
    ] = 8181
    public: Annotated[
        bool,
        Option(
            "allow an address other than loopback without client keys",
            env="TOOLWIRE_PUBLIC",
            flag="public",
        ),
    ] = False
    allowed_hosts: Annotated[
        tuple[str, ...],
        Option(
            "names that are accepted in `Host`, in addition to this machine's own; `*`: any. If it "
            "is not set, `Host` is checked only without client keys and on loopback",
            parse=values.host_names,
        ),
    ] = ()
    allowed_origins: Annotated[
        tuple[str, ...],
        Option(
            "origins of web pages that may send requests and read answers (CORS); `*`: any",
            parse=values.origins,
        ),
    ] = ()
    loop: Annotated[
        Literal["auto", "uvloop", "asyncio"],
        Option(
            "event loop; `auto`: uvloop if it is installed, as it is on Linux and macOS, else "
            "asyncio's, which is slower",
            env="TOOLWIRE_LOOP",
        ),
    ] = "auto"
    tls_cert: Annotated[Path | None, Option("certificate chain (PEM): serve HTTPS")] = None
    tls_key: Annotated[Path | None, Option("private key of the certificate (PEM)")] = None


class ClientKey(msgspec.Struct, frozen=True):
    """An API key of a client. Only its hash is stored."""

    name: Annotated[str, Option("the client's name, shown in logs", parse=values.label)]
    sha256: Annotated[
        str,
        Option(
            'SHA-256 of the key, in hex: `printf %s "$KEY" | sha256sum`',
            parse=values.sha256,
            show=values.hidden,
        ),
    ]
    inspects: Annotated[
        bool,
        Option("whether the [inspector](inspector.md) shows this key the requests of all keys"),
    ] = False
