"""The catalogue: one module a result."""
