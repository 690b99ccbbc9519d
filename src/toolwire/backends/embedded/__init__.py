"""The model inside this process: llama.cpp as a library."""
