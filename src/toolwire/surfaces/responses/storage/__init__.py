"""Stored responses: documents, endpoints and limits."""
