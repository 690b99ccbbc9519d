"""How we are spoken to: each API we show, in its own words."""
