"""Raises the limit of open files: every connection needs a file descriptor."""

import logging

try:
    import resource
except ImportError:  # Windows has no such limit
    resource = None  # type: ignore[assignment]

_log = logging.getLogger("toolwire.server")

_MOST = 65_536
"""The highest useful limit. Some libraries iterate over all descriptors up to the limit."""
_OTHERS = 128
"""Files other than connections: libraries, traces, template processes."""


def raise_open_files(connections: int) -> int:
    """Raise the soft limit as far as the hard one allows, and return it.

    Many systems start a process with 1,024, and allow more on request.
    """
    if resource is None:
        return _MOST
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = max(_MOST, connections + _OTHERS)
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
        except (OSError, ValueError):  # macOS allows fewer than it reports
            _log.debug("the limit of open files cannot be raised: it stays at %d", soft)
    if soft != resource.RLIM_INFINITY and soft < connections + _OTHERS:
        _log.warning(
            "the system allows %d open files, but limits.connections and limits.requests may need "
            "%d: raise its limit (ulimit -n), or lower them",
            soft,
            connections + _OTHERS,
        )
    return soft
