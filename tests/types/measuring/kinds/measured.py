"""A kind with a field of every type."""

from transformations.kind import Decimal, Field, Kind

KIND = Kind(
    "measured",
    "A device measured something.",
    (
        Field("device", "long whole number"),
        Field("level", Decimal(scale=2)),
        Field("total", "long whole number", required=False),
        Field("round", "whole number", required=False),
        Field("open", "true or false", required=False),
        Field("calibrated_at", "time", required=False),
        Field("tags", "texts", required=False),
        Field("owners", "texts", required=False, personal=True),
    ),
)
