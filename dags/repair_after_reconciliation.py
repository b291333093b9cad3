"""A reconciliation has found a difference of the stream: a person decides what is done about it.

The run waits, at most a day, for an answer under *Required actions*:

- **Recompute batch**: the batch results of the interval are computed anew, at a version of the log that is fixed now.
- **Rebuild the stream**: the stream's results are computed anew from the log in a new epoch. Readers see the old one
  until it has caught up.
- **Reject**: nothing is done. Without an answer in time this is what happens.

Each decision is kept in the lake, and shown on the *Parity* page. The run of the reconciliation stays failed.
"""

from datetime import timedelta

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, Param, TriggerRule

from decision import DecisionOperator
from house import COMMON, LAKE, PINNED, QUICK, RUN, STREAMED, judged_results, results_param
from parity_command import ParityOperator

RECOMPUTE, REBUILD, REJECT = "Recompute batch", "Rebuild the stream", "Reject"
RESULTS = "{{ judged_results(params.result, params.candidate) }}"
ASKED = {
    "lake": LAKE,
    "result": RESULTS,
    "from": "{{ params.first or '' }}",
    "to": "{{ params.to or '' }}",
}

with DAG(
    "repair_after_reconciliation",
    description="A person decides: recompute batch, rebuild the stream, or leave it.",
    doc_md=__doc__,
    schedule=None,
    is_paused_upon_creation=False,
    tags=["parity", "reconciliation", "needs a person"],
    max_active_runs=4,
    user_defined_macros={"judged_results": judged_results},
    params={
        "reconciliation": Param(
            "by-hand",
            type="string",
            pattern="^[A-Za-z0-9_+@~:-][A-Za-z0-9_.+@~:-]{0,199}$",
            title="Reconciliation",
            description="The run whose difference this is about; filled in by it.",
        ),
        "verdict": Param("", type="string", title="Verdict", description="What it found; filled in by it."),
        "result": results_param("Which results are repaired; none for all."),
        "candidate": Param(
            "kappa",
            type="string",
            pattern=f"^({STREAMED})$",  # never the control: neither repair could help it
            title="Candidate",
            description="Who was judged, the stream or a version of it, e.g. @2; filled in.",
        ),
        "first": Param(
            "", type="string", title="From", description="First window start, included; empty for no bound."
        ),
        "to": Param("", type="string", title="To", description="Last window start, excluded; empty for no bound."),
    },
    **{**COMMON, "dagrun_timeout": timedelta(days=2)},
):
    pin = ParityOperator(task_id="pin", command="pin", options=ASKED, **QUICK)
    decision = DecisionOperator(
        task_id="decision",
        subject="The layers differ: {{ params.reconciliation }}",
        body="{{ params.verdict }}\n\nThe page of that run has the report, under *Parity*. What is to be done?",
        options=[RECOMPUTE, REBUILD, REJECT],
        options_mapping={RECOMPUTE: "recompute_batch", REBUILD: "rebuild_stream", REJECT: "leave_it"},
        defaults=REJECT,
        response_timeout=timedelta(days=1),
        execution_timeout=None,
    )
    recompute_batch = ParityOperator(
        task_id="recompute_batch", command="recompute", options={**ASKED, "log-version": PINNED}
    )
    rebuild_stream = ParityOperator(
        task_id="rebuild_stream",
        command="stream",
        options={"lake": LAKE, "result": RESULTS, "rebuild": True},
    )
    leave_it = EmptyOperator(task_id="leave_it")
    record = ParityOperator(
        task_id="record",
        command="decide",
        options={
            "lake": LAKE,
            "run": RUN,
            "reconciliation": "{{ params.reconciliation }}",
            "decision": "{{ ti.xcom_pull(task_ids='decision', key='chosen') }}",
            "by": "{{ ti.xcom_pull(task_ids='decision', key='by') }}",
        },
        trigger_rule=TriggerRule.NONE_FAILED_MIN_ONE_SUCCESS,
        **QUICK,
    )
    pin >> decision >> [recompute_batch, rebuild_stream, leave_it] >> record
