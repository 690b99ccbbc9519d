"""The process: sockets, configuration, keys, logs, metrics."""
