"""The rules of a landing line as pure functions over Arrow: any process can judge lines, with or without Spark.

    lines_of(block) → judge(lines, …) → without_names(table, …), if the lake is to have none → with_hashes(table, …)

Nothing here imports Spark: a process that only ingests starts within a second.
"""

from .hashes import id_hash_sql, with_hashes
from .judge import judge, lines_of
from .nameless import without_names

__all__ = ["id_hash_sql", "judge", "lines_of", "with_hashes", "without_names"]
