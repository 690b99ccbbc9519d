"""Servers that speak OpenAI's API, or nearly."""
