"""The APIs that are served: each built from the configuration, and their reference."""
