"""Tools from Python functions: their schemas, arguments and results."""
