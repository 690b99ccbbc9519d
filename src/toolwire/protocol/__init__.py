"""The nouns: events, requests, tools, ids, schemas and the wire. No IO of any kind."""
