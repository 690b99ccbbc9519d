"""One incremental reader per family of formats."""
