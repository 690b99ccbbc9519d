"""Prompts by a model's chat template, rendered in a process of its own."""
