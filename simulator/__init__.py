"""The outside world: what lands, late, twice, with wrong clocks and sometimes garbage.

It only writes landing files (docs/landing-format.md), knows nothing of the pipeline, and shares no code. Each pipeline that is
simulated has a package here, which its story names; what they share stands beside them.
"""
