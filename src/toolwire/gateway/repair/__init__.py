"""Validates calls against their tools, and repairs or corrects invalid ones."""
