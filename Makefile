# The front door. Everything a target needs is set up by it, once.
SHELL := /bin/bash
PYTHON ?= $(shell command -v python3.11 || command -v python3)
# What `make airflow` and `make notebooks` work on.
LAKE ?= demo
LANDING ?=
CONFIG ?=
PORT ?= 8080
LIVE_PORT ?= 8000
# What `make chaos` draws from: every fault of the runner once, and then a load of so many minutes.
SEED ?= 7
ROUNDS ?= 45
MINUTES ?= 60
# How many logs `make laws` draws for each law; a log holds twenty examples. LAWS_SEED repeats a run.
LOGS ?= 50
# Small lakes: generating code for a plan takes longer than interpreting it.
QUICK := PARITY_SPARK__COMPILER=quick
PARALLEL := --numprocesses=2 --dist=loadfile --no-loadscope-reorder
NOTEBOOKS := $(filter-out notebooks/slides.py,$(wildcard notebooks/*.py))
COMPILE := .venv/bin/uv pip compile -q --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --no-header

.DEFAULT_GOAL := help
.PHONY: help setup demo live test check format bench laws mutants chaos faults notebooks airflow browser lock sbom clean

help: ## List the targets
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

setup: .venv/.ready .jars/.ready ## Install the environment, Spark's Delta jars and the class-data archive

demo: setup ## The whole story in one command: two layers, two crashes, one verdict
	@$(QUICK) .venv/bin/parity demo

live: setup ## Events that keep coming, both layers, the control and a page that shows them: make live [LIVE_PORT=8000]
	@$(QUICK) .venv/bin/parity live --port "$(LIVE_PORT)"

airflow: setup .airflow/.ready ## Start Airflow on loopback: make airflow [LAKE=demo] [LANDING=demo/landing] [CONFIG=parity.toml] [PORT=8080]
	@$(QUICK) .airflow/bin/python infra/airflow/start.py --lake "$(LAKE)" --landing "$(LANDING)" --config "$(CONFIG)" --port "$(PORT)"

test: setup .airflow/.ready browser ## Run the tests, but for the slow faults that `make chaos` adds
	@$(QUICK) .venv/bin/python -m pytest $(PARALLEL) --durations=15

check: setup .airflow/.ready ## Lint, types, and the direction of imports
	@.venv/bin/ruff check . && .venv/bin/ruff format --check . && .venv/bin/mypy && .venv/bin/lint-imports
	@.venv/bin/mypy --config-file infra/airflow/mypy.ini --python-executable .airflow/bin/python

format: setup ## Format the code
	@.venv/bin/ruff check --fix . && .venv/bin/ruff format .

notebooks: setup ## Open the notebooks in JupyterLab on loopback: make notebooks [LAKE=demo]
	@if [ "$(LAKE)" = demo ] && [ ! -e demo/report.html ]; then $(QUICK) .venv/bin/parity demo; fi
	@.venv/bin/jupytext --quiet --sync $(NOTEBOOKS)
	@$(QUICK) LAKE="$(LAKE)" .venv/bin/jupyter lab --config infra/jupyter.py --notebook-dir notebooks

bench: setup ## Measure throughput, CPU, memory, the API and freshness; takes some hours
	@.venv/bin/python -m benchmarks.run
	@.venv/bin/python -m benchmarks.architectures
	@.venv/bin/python -m benchmarks.micro_batch
	@.venv/bin/python -m benchmarks.serving
	@$(QUICK) .venv/bin/python -m benchmarks.freshness
	@$(QUICK) .venv/bin/python -m benchmarks.freshness --engine spark
	@$(QUICK) .venv/bin/python -m benchmarks.freshness --rates 100,500,1000,2500 --all-results
	@.venv/bin/python -m benchmarks.ingestion --memory 5,20 --ids 100
	@.venv/bin/python -m benchmarks.index --millions 1,10,100

laws: setup ## Try the laws on many drawn logs: make laws [LOGS=50] [LAWS_SEED=1234]; stopped, it goes on where it was
	@$(QUICK) .venv/bin/python tests/laws/run.py --logs "$(LOGS)" $(PARALLEL)

mutants: setup ## Put known mistakes into copies of the code, and write into docs/laws.md which law notices each; a survivor is an error
	@$(QUICK) .venv/bin/python tests/mutants/run.py --write docs/laws.md

chaos: setup ## Break it for hours, from a seed: the whole fault matrix, every fault of the runner, an hour of load
	@$(QUICK) .venv/bin/python -m pytest $(PARALLEL) tests/faults tests/chaos -m "chaos or not chaos"
	@.venv/bin/parity chaos --seed "$(SEED)" --rounds "$(ROUNDS)"
	@.venv/bin/parity chaos --seed "$(SEED)" --fault load --minutes "$(MINUTES)"

faults: setup ## Write docs/faults.md from what the tests of faults observe
	@rm -rf .faults
	@FAULTS_OBSERVED="$(CURDIR)/.faults" $(QUICK) .venv/bin/python -m pytest $(PARALLEL) tests/faults -m "chaos or not chaos"
	@.venv/bin/python tests/faults/document.py .faults docs/faults.md

browser: ## Install headless Chromium and its driver from Debian's packages, for tests of pages
	@{ command -v chromium && command -v chromedriver; } >/dev/null || infra/browser.sh

lock: .venv/.ready ## Resolve the dependencies of both environments anew into their lock files
	@$(COMPILE) pyproject.toml --group dev -o requirements.lock
	@$(COMPILE) infra/airflow/requirements.in -o infra/airflow/requirements.lock

sbom: .venv/.ready ## Write the bill of materials, sbom.json (CycloneDX): every pinned package and jar with its hashes
	@.venv/bin/python infra/sbom.py sbom.json

clean: ## Remove what the targets above have made
	@rm -rf .venv .jars .airflow infra/airflow/home demo live sbom.json

.airflow/.ready: infra/airflow/requirements.lock
	@echo "Setting up Airflow's own environment (once, about a minute) ..."
	@rm -rf .airflow && $(PYTHON) -m venv .airflow
	@.airflow/bin/pip install --quiet --disable-pip-version-check --require-hashes -r infra/airflow/requirements.lock
	@touch $@

.venv/.ready: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info[:2] == (3, 11) else f"Python 3.11 is needed, {sys.executable} is {sys.version.split()[0]}. Name one: make PYTHON=...")'
	@echo "Setting up the environment (once, some minutes) ..."
	@rm -rf .venv && $(PYTHON) -m venv .venv
	@.venv/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@.venv/bin/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

.jars/.ready: infra/jars.xml infra/jars.sha256 .venv/.ready
	@command -v java >/dev/null || { echo "A JDK 17 is needed: no java on the PATH."; exit 1; }
	@echo "Resolving Spark's Delta jars ..."
	@rm -rf .jars && infra/jars.sh .jars
	@echo "Making the class-data archive ..."
	@.venv/bin/python infra/class_archive.py
	@touch $@
