"""What Parity is used for: a folder each, with kinds of events, results and `pipeline.py`, which says the rest.

Their modules import `transformations` alone, and nothing imports them by name: `lakehouse/pipelines.py` loads the one that the
settings or the lake name.
"""
