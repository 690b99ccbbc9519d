"""Writes answers: items, events and the response object."""
