"""Parity inside the Airflow interface: an entry in the navigation and a tab on the page of every run.

The pages show what the commands have left in the lake: reports of reconciliations, results of data quality with their
Data Docs, failures and decisions. Nothing is computed here, and nothing of Parity is imported: Airflow's environment
has no Spark.

Airflow guards its own pages, not those of a plugin. So every page here asks for the user itself, and answers 401 without
one. And it queues a run of any conf, whatever its keys: those that the form does not have are refused from here, and
values that are not allowed are refused in plain words.
"""

from typing import Any

from airflow.plugins_manager import AirflowPlugin

import conf_keys
import conf_values
from pages.app import app

conf_keys.watch()
conf_values.watch()


class ParityPlugin(AirflowPlugin):
    name = "parity"
    fastapi_apps: list[Any] = [{"app": app, "url_prefix": "/parity", "name": "Parity"}]
    external_views: list[Any] = [
        {"name": "Parity", "href": "/parity/", "destination": "nav", "url_route": "parity", "nav_top_level": True},
        {
            "name": "Parity",
            "href": "/parity/runs/{DAG_ID}/{RUN_ID}",
            "destination": "dag_run",
            "url_route": "parity-run",
        },
    ]
