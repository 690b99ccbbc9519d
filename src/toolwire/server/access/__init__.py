"""Who may send requests."""
