"""Everything that was tried against the gateway, row by row: `python -m tests.hard --help`."""
