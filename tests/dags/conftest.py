"""`inside` is for Airflow's own environment: `test_inside_airflow.py` runs it there."""

collect_ignore = ["inside"]
