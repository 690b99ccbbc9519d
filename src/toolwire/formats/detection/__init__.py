"""Which format a text, a template or a model uses."""
