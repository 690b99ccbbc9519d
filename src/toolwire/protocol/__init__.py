"""The shared types: events, requests, tools, ids, schemas, SSE. No I/O."""
