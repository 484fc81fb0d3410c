# The commands of this project. Each works on a fresh clone and sets itself up first.
# `make` alone lists them; the text after ## is what it prints.

SHELL   := /bin/sh
VENV    := .venv
BIN     := $(VENV)/bin
STAMP   := $(VENV)/.ready
SOURCES := pyproject.toml constraints.txt tools/environment.py
PYTHON  ?= $(shell for p in python3.13 python3.12 python3.11 python3 python; do \
             command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' \
             2>/dev/null && echo $$p && break; done)

PAGE    := tools/page.py $(wildcard web/*.json web/*.html web/.npmrc) $(shell find web/src -type f)

JOBS    ?= auto
SEEDS   ?= 2000
ARGS    ?=

.DEFAULT_GOAL := help
.PHONY: help setup run test test-all quick cover check fmt sim scenarios soak bench bench-million screenshots docs ledger pages build release-check diff-heat import-heat migrate-torture torture tempest cloud cloud-down test-cloud pins clean

help: ## this list
	@echo "Isotherm. The commands (each does its own set-up):"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP) $(VENV)/.ready-page ## make .venv, install everything into it, and build the page

$(STAMP): $(SOURCES)
	@test -n "$(PYTHON)" || { echo "setup: no Python 3.11, 3.12 or 3.13 was found on the PATH" >&2; exit 1; }
	@$(PYTHON) tools/environment.py
	@touch $@

# The page is built again when its sources change. Without npm a note says so, and the service works without the page.
$(VENV)/.ready-page: $(STAMP) $(PAGE)
	@$(BIN)/python tools/page.py
	@touch $@

run: setup ## deploy, update and roll back sample templates, live
	@$(BIN)/python examples/tour.py

test: setup ## everything that CI runs: lint, types, layers, tests
	@$(BIN)/python tools/gate.py test --jobs $(JOBS) $(ARGS)

test-all: setup ## the long form: everything on every database, more seeds, longer faults (docs/testing.md)
	@$(BIN)/python tools/gate.py test-all --jobs $(JOBS) $(ARGS)

quick: setup ## the unit and command line tests, within half a minute
	@$(BIN)/python tools/gate.py quick --jobs $(JOBS) $(ARGS)

cover: setup ## the coverage of isotherm/ by the unit, command line, store, engine and API tests; fails below a floor
	@$(BIN)/python tools/gate.py cover --jobs $(JOBS) $(ARGS)

check: setup ## lint (ruff), types (mypy strict), layers (import-linter)
	@$(BIN)/python tools/gate.py check

fmt: setup ## sort imports and fix what ruff can fix
	@$(BIN)/ruff check --fix .

sim: setup ## run the simulator: make sim SEEDS=5000
	@$(BIN)/isotherm sim --seeds $(SEEDS) $(ARGS)

scenarios: setup ## run every scenario in 200 orders of its messages
	@ISOTHERM_ORDERS=200 $(BIN)/python -m pytest -q -n $(JOBS) tests/sim/test_scenarios.py $(ARGS)

soak: setup ## run the simulator until it is interrupted
	@$(BIN)/isotherm sim --soak $(ARGS)

bench: setup ## all benchmarks, as JSON lines
	@$(BIN)/python -m bench $(ARGS)

bench-million: setup ## one million resources in one stack tree: time and memory
	@$(BIN)/python -m bench.million $(ARGS)

ledger: setup ## write docs/ledger.md from the markers of the tests
	@$(BIN)/python tools/ledger.py

pages: setup ## write the generated tables of the documentation: packages, layers, invariants, commands, decisions
	@$(BIN)/python tools/pages.py

screenshots: setup ## make the pictures of docs/page.md anew, from a service of their own
	@$(BIN)/python -m tools.screenshots

docs: setup ledger pages $(VENV)/.ready-docs ## build the documentation as HTML into build/docs
	@$(BIN)/sphinx-build -q -W -b html docs build/docs && echo "docs: build/docs/index.html"

build: setup $(VENV)/.ready-release ## build the wheel and the source archive into dist/
	@$(BIN)/python -m build --no-isolation --outdir dist .

release-check: setup $(VENV)/.ready-release ## build wheel and sdist, install the wheel into an empty environment, run the tour
	@$(BIN)/python tools/release_check.py

diff-heat: setup ## compare the template language with a real Heat, in an environment of its own
	@$(BIN)/python tools/diff_heat.py $(ARGS)

import-heat: setup ## import stacks from a real Heat, on private services: two minutes
	@ISOTHERM_REAL_HEAT=1 $(BIN)/python -m pytest -q tests/importing tests/e2e/test_import_heat.py $(ARGS)

migrate-torture: setup ## kill a migration to convergence a hundred times at random moments
	@ISOTHERM_KILLS=100 $(BIN)/python -m pytest -q -s tests/e2e/test_migrate_kill.py $(ARGS)

torture: setup ## run real processes with a fault every few seconds: make torture ARGS="--help"
	@$(BIN)/python -m tools.torture $(ARGS)

tempest: setup ## run OpenStack's own tests of Heat against this service: ARGS=--cloud on a real cloud
	@$(BIN)/python -m tools.tempest $(ARGS)

cloud: setup ## start a small real OpenStack, and say how to use it
	@$(BIN)/python -m tools.cloud up $(ARGS)

cloud-down: setup ## end the small OpenStack; its data stay: ARGS=--forget deletes them
	@$(BIN)/python -m tools.cloud down $(ARGS)

test-cloud: setup ## the tests on a small real OpenStack, which is started for them
	@$(BIN)/python tools/gate.py test-cloud --jobs $(JOBS) $(ARGS)

pins: setup $(VENV)/.ready-release ## write the newest versions that pyproject.toml allows to constraints.txt
	@UV_PYTHON_DOWNLOADS=never $(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --group dev --group docs --group release \
	  --no-header --no-annotate pyproject.toml --output-file constraints.txt

clean: ## remove build results; keep .venv
	@rm -rf build dist .mypy_cache .ruff_cache .hypothesis .import_linter_cache

$(VENV)/.ready-%: $(STAMP)
	@$(PYTHON) tools/environment.py $*
	@touch $@
