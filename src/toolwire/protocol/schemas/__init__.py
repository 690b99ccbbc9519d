"""JSON Schemas of tools: validation, cost estimates, repairs."""
