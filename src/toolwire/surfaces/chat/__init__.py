"""The vocabulary of a chat that Chat Completions and the native API share."""
