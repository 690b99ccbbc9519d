"""How every format is written on the wire, told a second time and apart from the catalogue.

These writers know nothing of `toolwire.formats`: what they write is what models were seen to
write, and the expectation of a case is the value that was written, never what a parser made of it.
`python -m tests.unit.conformance.wire` writes the systematic cases of `cases/<format>.json` anew;
the others in those files are written by hand and stay as they are.
"""
