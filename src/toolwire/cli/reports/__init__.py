"""Tables and reports on the terminal."""
