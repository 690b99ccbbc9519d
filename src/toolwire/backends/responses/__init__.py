"""Servers with OpenAI's Responses API."""
