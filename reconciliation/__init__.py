"""The judge: compares the layers over all keys at one version of the log, and earns a cause for every difference."""
