"""Data quality: what each table of a lake must satisfy, checked at pinned versions by Great Expectations."""
