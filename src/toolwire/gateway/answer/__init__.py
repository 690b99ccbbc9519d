"""From the fragments of a backend to the events of a turn, stage by stage. Pure."""
