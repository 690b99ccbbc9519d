"""The native API: parsed arguments, results of any JSON, ids of our own, and conversations."""
