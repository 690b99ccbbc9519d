"""How to install an optional part of Toolwire, for messages."""


def how_to_install(extra: str) -> str:
    """Return the command. It needs a clone: there is no Toolwire on a package index."""
    return f"pip install '.[{extra}]' in a clone of Toolwire"
