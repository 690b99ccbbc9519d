"""Real agents and SDKs of other projects, installed by name and run headless and offline."""
