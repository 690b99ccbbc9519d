"""Fuzz targets: one for each parser of bytes that others write. `python -m tests.fuzz --help`."""
