"""A real `toolwire serve` process between raw sockets and the scripted backend."""
