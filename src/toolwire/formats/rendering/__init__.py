"""Prompts: tools, calls and results in a model's own format, and escaped text."""
