"""A scripted backend and a Toolwire in front of it, as for the gateway's other tests."""

from tests.e2e.gateway.conftest import backend, gateway

__all__ = ["backend", "gateway"]
