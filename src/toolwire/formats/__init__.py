"""Text <-> calls: every tool-call format that open models write. Imports protocol only."""
