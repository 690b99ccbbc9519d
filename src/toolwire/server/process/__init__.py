"""This process: its event loop, memory, open files and child processes."""
