"""Backends: the places where models run."""
