"""The inspector, in a real Chromium."""
