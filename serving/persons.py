"""What a person is called in answers: by a pseudonym, unless the setting `[serving] clear_ids` asks for the id itself."""

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from lakehouse.pseudonyms import HIDDEN
from transformations.pseudonym import pseudonym


class Persons:
    """Renames persons with the key of the lake; without a key everybody keeps the name."""

    def __init__(self, key: bytes | None, personal: Sequence[str]) -> None:
        self._key = key
        self._personal = personal
        self.hidden = () if key is None else HIDDEN
        """The columns that hold a whole line, which nobody is shown."""

    def renamed(self, rows: pa.Table) -> pa.Table:
        """Rows whose personal columns hold pseudonyms, without those that are hidden."""
        if self._key is None:
            return rows
        rows = rows.drop_columns([name for name in self.hidden if name in rows.column_names])
        for name in self._personal:
            if name in rows.column_names:
                rows = rows.set_column(rows.column_names.index(name), name, self._column(rows[name]))
        return rows

    def renamed_object(self, text: str) -> Any:
        """What a text says as JSON; if it is an object, with its personal fields renamed."""
        found = json.loads(text)
        if self._key is None or not isinstance(found, dict):
            return found
        return {name: _called(value, self._key) if name in self._personal else value for name, value in found.items()}

    def _column(self, values: pa.ChunkedArray) -> pa.Array:
        """Each distinct id is hashed once: there are few of them, and many rows."""
        import pyarrow.compute as pc  # takes a tenth of a second, which `parity show` does not need: it renames nobody

        assert self._key is not None
        if pa.types.is_list(values.type):
            lists = values.combine_chunks()
            lengths = pc.fill_null(pc.list_value_length(lists), 0)
            ends = pc.cumulative_sum(lengths)
            names = self._column(pa.chunked_array([lists.flatten()]))
            return pa.ListArray.from_arrays(
                pa.concat_arrays([pa.array([0], ends.type), ends]), names, mask=lists.is_null()
            )
        encoded = pc.dictionary_encode(values.combine_chunks())
        names = [None if value is None else pseudonym(value, self._key) for value in encoded.dictionary.to_pylist()]
        return pa.array(names, pa.string()).take(encoded.indices)


def _called(value: Any, key: bytes) -> Any:
    """A text or a list of texts that name persons; anything else stays."""
    if isinstance(value, list):
        return [_called(each, key) for each in value]
    return pseudonym(value, key) if isinstance(value, str) else value
