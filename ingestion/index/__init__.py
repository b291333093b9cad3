"""Which ids the log has: a derived index that follows the log and is never ahead of it. It is a cache, never the truth."""

from ingestion.index.covered import Covered
from ingestion.index.id_index import IdIndex
from ingestion.index.pending import Pending
from ingestion.index.unusable import Unusable

__all__ = ["Covered", "IdIndex", "Pending", "Unusable"]
