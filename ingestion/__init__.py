"""Ingestion: from landing files into the log, which both layers read."""
