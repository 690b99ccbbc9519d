"""Servers with Anthropic's Messages API."""
