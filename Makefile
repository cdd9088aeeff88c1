# One command per need. Everything builds on .venv, which `setup` makes from the lock; python3 (3.11 - 3.14) is all it takes.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules

PYTHON ?= python3
UV ?= uv
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.harvester-setup
PIP := $(BIN)/python -m pip --disable-pip-version-check
PYTEST := $(BIN)/python -m pytest
# Two workers, each with an embedded server of its own. `make test WORKERS=0 ARGS="tests/facts -k lease"` for one look.
WORKERS ?= 2
ARGS ?=

.PHONY: help
help:  ## this list
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 18

.PHONY: setup
setup: $(STAMP)  ## .venv from the hash-locked requirements, and the command `harvester` in it

$(STAMP): requirements-dev.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(None if (3, 11) <= sys.version_info < (3, 15) else "python 3.11 to 3.14 is needed, this is " + sys.version)'
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --require-hashes --no-deps --only-binary :all: -r requirements-dev.txt
	$(PIP) install --quiet --no-deps --no-build-isolation --no-index --editable .
	@touch $@

.PHONY: demo
demo: setup  ## facts in, graph out, one fact edited and one deleted: see the promise kept, with a picture
	$(BIN)/harvester demo $(ARGS)

.PHONY: test
test: setup  ## every test but the soak (ARGS="tests/facts -k lease" for some)
	$(PYTEST) -n $(WORKERS) -m "not soak" $(ARGS)

.PHONY: check
check: lint types contract sizes imports committed schemacheck docscheck test  ## what CI runs: all checks, then the tests

.PHONY: lint
lint: setup  ## ruff, all rules, and its formatter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

.PHONY: format
format: setup  ## put the code in the formatter's shape, and mend what ruff can mend
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.PHONY: types
types: setup  ## mypy --strict
	$(BIN)/mypy

.PHONY: contract
contract: setup  ## imports point down: crawler -> graph -> facts
	$(BIN)/lint-imports

.PHONY: sizes
sizes: setup  ## length of functions and files, names of rooms, number of broad excepts
	$(BIN)/python -m checks.sizes

.PHONY: imports
imports: setup  ## importing a module does no work
	$(BIN)/python -m checks.imports

.PHONY: committed
committed: setup  ## no foreign hosts and no paths of one machine in committed files
	$(BIN)/python -m checks.committed

.PHONY: schema
schema: setup  ## write docs/schema.txt anew from the migrated database
	$(BIN)/python -m checks.schema --write

.PHONY: schemacheck
schemacheck: setup  ## the migrated database is the one that docs/schema.txt shows
	$(BIN)/python -m checks.schema

.PHONY: docscheck
docscheck: setup  ## every command, option, tool, setting and rule key is documented
	$(BIN)/python -m checks.docs

.PHONY: bench
bench: setup  ## figures: a full drain against raw SQL and against look-up-then-write Cypher
	$(BIN)/python -m tests.benchmarks $(ARGS)

.PHONY: idle
idle: setup  ## processor time of a harvester that has nothing to do, over a minute (SECONDS=10)
	$(BIN)/python -m tests.benchmarks.idle $(or $(SECONDS),60)

.PHONY: chaos
chaos: setup  ## kill harvesters and PostgreSQL's processes at random moments, longer than `make test` does
	HARVESTER_CHAOS_ROUNDS=$${HARVESTER_CHAOS_ROUNDS:-50} $(PYTEST) -m chaos --timeout 1800 $(ARGS)

.PHONY: soak
soak: setup  ## minutes of stores, edits, deletes, harvests and crashes
	$(PYTEST) -m soak --timeout 7200 $(ARGS)

.PHONY: load
load: setup  ## 200 concurrent HTTP readers for a minute (SECONDS=10): rate, p50, p95, and no 5xx but 503
	$(BIN)/python -m tests.crawler.serving.load $(or $(SECONDS),60)

.PHONY: fold
fold: setup  ## the promise at random, 200,000 steps: facts, harvests, agents, merges, deletes, crashes (about an hour)
	HARVESTER_FOLD_EXAMPLES=$${HARVESTER_FOLD_EXAMPLES:-5000} HARVESTER_FOLD_STEPS=$${HARVESTER_FOLD_STEPS:-40} \
	  $(PYTEST) tests/fold --timeout 14400 $(ARGS)

.PHONY: lock
lock:  ## resolve the requirements anew (needs uv); UPGRADE=1 takes the newest
	for pair in "requirements.txt:" "requirements-dev.txt:--extra dev"; do \
	  $(UV) pip compile pyproject.toml --extra models $${pair#*:} --output-file $${pair%%:*} $(if $(UPGRADE),--upgrade) \
	    --universal --python-version 3.11 --generate-hashes --override overrides.txt \
	    --no-emit-index-url --no-header --no-annotate --quiet; \
	done

.PHONY: textquality
textquality: setup  ## precision and recall of the text extractor on labelled sentences
	$(BIN)/python -m tests.crawler.extractors.quality

.PHONY: clean
clean:  ## remove caches and built files; .venv and databases stay
	rm -rf build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +
