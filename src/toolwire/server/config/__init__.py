"""The configuration: read, checked, explained."""
