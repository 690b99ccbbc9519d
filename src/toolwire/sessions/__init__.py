"""Where conversations and stored responses are kept: SQLite, Redis or memory."""
