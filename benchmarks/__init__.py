"""Measurements, not tests: `make bench`. The machine is shared and noisy, so what counts are ratios from one run."""
