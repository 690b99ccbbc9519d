"""A real `toolwire serve` in front of models that have no tools, or whose server loses them."""
