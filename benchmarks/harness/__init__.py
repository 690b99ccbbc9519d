"""The parts of benchmarks/gateway.py: a mock, a load client, and what is done with them."""
