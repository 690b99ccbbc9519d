"""Arguments: copied or converted to JSON while they arrive."""
