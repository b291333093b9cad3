"""What every result *is*: pure functions over DataFrames, with no I/O, session, clock or settings.

What a landing line is stands in `lines`: pure functions over Arrow, which need no Spark.
The stream's engine, its repairs and the batch layer call the same functions of this package, and nothing else defines
a result. Modules import each other relatively, so that an older copy of the package can be loaded beside this one and
asked what it would have computed (`reconciliation.archive`).
"""
