"""The results: one module each, with a function of the same name that declares it."""
