"""Faults on purpose: the whole of Parity as real processes, struck at known moments, and the proof afterwards."""
