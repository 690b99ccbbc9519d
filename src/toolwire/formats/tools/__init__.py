"""The tools of a turn, as parsers see them."""
