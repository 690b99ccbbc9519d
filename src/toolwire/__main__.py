"""`python -m toolwire`."""

from toolwire.cli import main

main()
