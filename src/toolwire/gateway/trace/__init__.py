"""Traces of turns, and their replay."""
