"""Reads requests: fields, tools, and items into messages."""
