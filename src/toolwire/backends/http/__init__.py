"""The HTTP/1.1 client: pooled connections that deliver answers block by block.

Why this is not an existing client: see docs/adr/0003-http-stack.md. The parser is llhttp
(httptools). Redirects are never followed, so connections go only to the configured URL.
"""

from toolwire.backends.http.connection import Connection, Head
from toolwire.backends.http.origin import Origin
from toolwire.backends.http.pool import HttpPool

__all__ = ["Connection", "Head", "HttpPool", "Origin"]
