"""The native API of a real gateway process."""
