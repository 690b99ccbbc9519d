"""JSON Schemas of tools: checked, weighed, repaired."""
