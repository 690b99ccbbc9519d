"""Reads, validates and documents the configuration."""
