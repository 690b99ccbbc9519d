"""Which backends are up, what they can do, and whether to send requests here."""
