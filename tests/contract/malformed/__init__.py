"""Malformed inputs, from both sides: requests that clients get wrong, and calls that models do.

Made from tables, always the same, each with the outcome that is right for it. `python -m
tests.contract.malformed` says how many there are of each kind and how many end as they should.
"""
