"""The tools for `llm --functions`, which takes every function that it finds here."""

from workbench import read_file, run_command, write_file

__all__ = ["read_file", "run_command", "write_file"]
