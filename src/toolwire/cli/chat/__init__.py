"""`toolwire chat`: a conversation with tools in the terminal."""

from toolwire.cli.chat.command import command

__all__ = ["command"]
