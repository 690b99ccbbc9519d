"""The embedded model, on its real weights."""
