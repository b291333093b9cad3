"""What a reader sees: the Kappa view (one table) and the Lambda view (two tables and a cut-off)."""
