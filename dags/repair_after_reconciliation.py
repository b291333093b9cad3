"""A reconciliation has found a difference of the stream: a person decides what is done about it.

The run waits, at most a day, for an answer under *Required actions*:

- **Recompute batch**: the batch results of the interval are computed anew, at the version of the log of that moment.
- **Rebuild the stream**: the stream's results are computed anew from the log in a new epoch. Readers see the old one
  until it has caught up. A retry goes on with that epoch.
- **Reject**: nothing is done. Without an answer in time this is what happens.

Each decision is kept in the lake when it is made, whatever becomes of the repair, and shown on the *Parity* page. The run of the
reconciliation stays failed.
"""

from datetime import timedelta

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.providers.standard.operators.python import BranchPythonOperator
from airflow.sdk import DAG

from decision import DecisionOperator
from form import moment_param, text_param, versions_param
from house import COMMON, EVENTS, KAPPA, ON_LAKE, PINNED, QUICK, REBUILT, RUN, STREAM_POOL
from parity_command import ParityOperator

RECOMPUTE, REBUILD, REJECT = "Recompute batch", "Rebuild the stream", "Reject"
FIRST_TASK = {RECOMPUTE: "pin", REBUILD: "rebuild_stream", REJECT: "leave_it"}
RESULTS = "{{ params.result }}"
ASKED = {
    **ON_LAKE,
    "result": RESULTS,
    "from": "{{ params.first or '' }}",
    "to": "{{ params.to or '' }}",
}
NAMED = "{{ (params.result or ['every result']) | join(', ') }}"
TOOK = {way: f"{{{{ ti.xcom_pull(task_ids='check')['took']['{way}'] }}}}" for way in ("recompute", "rebuild")}
QUESTION = f"""{{{{ params.verdict }}}}

The [report](/parity/reports/{{{{ params.reconciliation }}}}.html) shows the differing rows with their causes.

**{RECOMPUTE}**: {NAMED} anew from the log, for the interval of the reconciliation. Readers of the Lambda view see the new
rows when it ends. {TOOK["recompute"]}

**{REBUILD}**: the stream of {NAMED} anew, from the start of the log. Readers see the old rows until it has caught up.
{TOOK["rebuild"]}

**{REJECT}**: nothing is done, and that is also what happens if nobody answers within a day.
"""
CHOSEN = "{{ ti.xcom_pull(task_ids='decision', key='chosen') }}"

with DAG(
    "repair_after_reconciliation",
    description="A person decides: recompute batch, rebuild the stream, or leave it.",
    doc_md=__doc__,
    schedule=None,
    is_paused_upon_creation=False,
    tags=["parity", "reconciliation", "needs a person"],
    max_active_runs=4,
    params={
        "reconciliation": text_param(
            "by-hand",
            title="Reconciliation",
            description="The run whose difference this is about; filled in by it.",
            pattern="^[A-Za-z0-9_+@~:-][A-Za-z0-9_.+@~:-]{0,199}$",
            allowed="the name of a run, of letters, digits and _ . + @ ~ : - only, at most 200 of them",
        ),
        "verdict": text_param("", title="Verdict", description="What it found; filled in by it.", allowed="a text"),
        "result": versions_param(
            "Which results are repaired, each with the version that was judged, e.g. my_result@2."
        ),
        "first": moment_param("From", "First window start, included."),
        "to": moment_param("To", "Last window start, excluded."),
    },
    **{**COMMON, "dagrun_timeout": timedelta(days=2)},
):
    # Before anybody is asked: a repair of something that is not there is refused now.
    check = ParityOperator(task_id="check", command="pin", options={**ASKED, "took": True}, **QUICK)
    decision = DecisionOperator(
        task_id="decision",
        subject="The layers differ: {{ params.reconciliation }}",
        body=QUESTION,
        options=[RECOMPUTE, REBUILD, REJECT],
        defaults=REJECT,
        response_timeout=timedelta(days=1),
        execution_timeout=None,
    )
    record = ParityOperator(
        task_id="record",
        command="decide",
        options={
            "lake": ON_LAKE["lake"],
            "run": RUN,
            "reconciliation": "{{ params.reconciliation }}",
            "decision": CHOSEN,
            "by": "{{ ti.xcom_pull(task_ids='decision', key='by') }}",
        },
        **QUICK,
    )
    chosen = BranchPythonOperator(task_id="chosen", python_callable=FIRST_TASK.get, op_args=[CHOSEN])
    # After the decision: the log has gone on while a person was asked.
    pin = ParityOperator(task_id="pin", command="pin", options=ASKED, **QUICK)
    recompute_batch = ParityOperator(
        task_id="recompute_batch", command="recompute", options={**ASKED, "log-version": PINNED}
    )
    rebuild_stream = ParityOperator(
        task_id="rebuild_stream",
        command="stream",
        options={**ON_LAKE, "result": RESULTS, "rebuild": True, "run": RUN},
        execution_timeout=REBUILT,
        pool=STREAM_POOL,
        inlets=[EVENTS],
        outlets=[KAPPA],
    )
    leave_it = EmptyOperator(task_id="leave_it")
    check >> decision >> record >> chosen >> [pin, rebuild_stream, leave_it]
    pin >> recompute_batch
