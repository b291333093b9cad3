"""The batch layer of the Lambda architecture: every result recomputed from the log. It can be removed; a test does."""
