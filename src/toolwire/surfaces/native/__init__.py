"""The native API: parsed arguments, results of any JSON type, stable ids, and conversations."""
