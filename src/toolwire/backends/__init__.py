"""How to reach a model."""
