"""The embedded model: llama.cpp as a library."""
