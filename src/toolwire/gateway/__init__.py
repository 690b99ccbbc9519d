"""One turn: from a checked request to events. Pure, except `pump` and `turn`."""
