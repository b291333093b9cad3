"""Rows by their shape: which columns have a value. There are few shapes and many rows, so each shape is handled as a whole."""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Places = npt.NDArray[np.int64]


def by_shape(rows: pa.Table, names: Sequence[str]) -> Iterator[tuple[list[str], Places]]:
    """Of the columns with these names, those that have a value, and the places of all rows for which these are the same."""
    shapes: list[tuple[list[str], Places]] = [([], np.arange(len(rows)))]
    for name in names:
        given = np.asarray(rows[name].is_valid())
        split = [
            part
            for shape, places in shapes
            for part in (([*shape, name], places[given[places]]), (shape, places[~given[places]]))
        ]
        shapes = [(shape, places) for shape, places in split if len(places)]
    yield from shapes
