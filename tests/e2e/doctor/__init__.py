"""`toolwire doctor` and `toolwire init` on scripted servers, each with one fault."""
