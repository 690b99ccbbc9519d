"""Other requests of OpenAI's API (`completions`, `embeddings`, ...), passed on to a backend."""
