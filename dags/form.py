"""The fields of the forms: lists where there is something to choose from, pickers for days and moments.

`allowed` is a word of ours in the schema of a field: what is told, in place of the schema, to somebody who gives another
value (`infra/airflow/plugins/conf_values.py`). A list with `examples` offers them and takes what its pattern allows: a
version that was made since the DAG was read is no mistake.
"""

import re
from pathlib import Path
from typing import Any

from airflow.sdk import Param, Variable

from house import CHARTED, CONTROL, RESULTS

_OPTIONAL = ["null", "string"]
_DAY = r"\d{4}-\d\d-\d\d"
_MOMENT = rf"^{_DAY}(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d))?$"


def results_param(description: str) -> Param:
    """Some of the results, or all."""
    return Param(
        None,
        type=["null", "array"],
        title="Results",
        description=description,
        items={"type": "string", "enum": RESULTS},
        examples=RESULTS,
        uniqueItems=True,
        allowed=f"a list, each at most once, of {', '.join(RESULTS)}; or nothing for all",
    )


def versions_param(description: str) -> Param:
    """Some of the results, each with a version, or all."""
    has = [f"{name}@{number}" for name, number in versions_of_the_lake()]
    return Param(
        None,
        type=["null", "array"],
        title="Results",
        description=f"{description} None for all.",
        items={"type": "string", "pattern": f"^({'|'.join(RESULTS)})(@[1-9][0-9]*)?$"},
        examples=has or [f"{name}@1" for name in RESULTS],
        uniqueItems=True,
        allowed=f"a list, each at most once, of {', '.join(RESULTS)}, with a version or without, e.g. {RESULTS[-1]}@2; "
        "or nothing for all",
    )


def one_result_param() -> Param:
    return Param(
        CHARTED.result,
        type="string",
        title="Result",
        description="The result by its name.",
        enum=RESULTS,
        allowed=f"one of {', '.join(RESULTS)}",
    )


def candidate_param() -> Param:
    """Empty at first: a list of suggestions shows only what begins like the text that is there already."""
    numbers = sorted({number for _, number in versions_of_the_lake()})
    return Param(
        None,
        type=_OPTIONAL,
        pattern=f"^(kappa|{CONTROL}|@[1-9][0-9]*)$",
        title="Candidate",
        description="Who is judged against batch: kappa, the stream, which is also meant by nothing; legacy, the control; or "
        "a version of the results, e.g. @2.",
        examples=["kappa", CONTROL, *(f"@{number}" for number in numbers)],
        allowed=f"kappa, {CONTROL}, or a version of the results, e.g. @2; or nothing for kappa",
    )


def moment_param(title: str, description: str) -> Param:
    return Param(
        None,
        type=_OPTIONAL,
        format="date-time",  # shows the picker; it does not refuse anything by itself
        pattern=_MOMENT,
        title=title,
        description=f"{description} A time with its zone. Leave it empty for no bound.",
        allowed="a day or a time with its zone, e.g. 2026-03-01 or 2026-03-01T10:00:00Z; or nothing for no bound",
    )


def day_param(description: str) -> Param:
    return Param(
        None,
        type=_OPTIONAL,
        format="date",
        pattern=f"^{_DAY}$",
        title="Day",
        description=description,
        allowed="a day, e.g. 2026-03-01; or nothing",
    )


def tolerance_param() -> Param:
    return Param(
        None,
        type=["null", "array"],
        title="Tolerance",
        description=f"Allowed difference of a value column, one a line, e.g. {CHARTED.column}=0.5. Nothing else is tolerated.",
        items={"type": "string", "pattern": "^[a-z][a-z0-9_]*=[0-9]+([.][0-9]+)?$"},
        allowed=f"a list of COLUMN=NUMBER, e.g. {CHARTED.column}=0.5; or nothing",
    )


def switch_param(title: str, description: str) -> Param:
    return Param(False, type="boolean", title=title, description=description, allowed="true or false")


def text_param(default: str, *, title: str, description: str, allowed: str, **schema: Any) -> Param:
    return Param(default, type="string", title=title, description=description, allowed=allowed, **schema)


def versions_of_the_lake() -> list[tuple[str, int]]:
    """The versions that the lake has when the DAGs are read; none where there is no lake yet."""
    lake = Variable.get("parity_lake", default="")
    files = Path(lake, "results").glob("*@*.json") if lake else ()
    found = (re.fullmatch(r"([a-z0-9_]+)@([1-9][0-9]*)", file.stem) for file in files)
    return sorted((each[1], int(each[2])) for each in found if each and each[1] in RESULTS)
