"""HTTP/1.1 for our clients."""
