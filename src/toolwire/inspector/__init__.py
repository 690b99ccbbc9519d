"""A page that shows how Toolwire reads a model's text, and what happened to the last requests."""
