"""Answers that arrive in pieces: read from the wire, joined, and handed to the program."""
