# The commands of this project; `make help` lists them.
.DEFAULT_GOAL := help
.PHONY: help run test programs check check-types check-rest console console-packages bench soak clean setup setup-dev
MAKEFLAGS += --no-print-directory
SHELL := /bin/sh
BIN := .venv/bin
export PYTHON

# Extra arguments, such as: make run ARGS="--port 9000", make test ARGS="tests/core -x"
ARGS ?=

help: ## List the commands
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

run: setup ## Install what is missing and start Agentex
	@exec $(BIN)/agentex serve $(ARGS)

test: setup-dev programs ## Run all tests, with real Redis and PostgreSQL where they can be had
	@scripts/setup_node.sh
	@$(BIN)/python -m scripts.suite $(ARGS)

programs: ## Install the programs that only tests use: Chromium, LibreOffice, Tesseract, Dovecot, MariaDB, OpenSSH
	@scripts/setup_browser.sh
	@scripts/setup_programs.sh

check: setup-dev ## Format, lint, types, import contracts, lengths, names, migrations, console
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	@$(MAKE) -j2 check-types check-rest

# Two at once, because each takes minutes on one core.
check-types:
	$(BIN)/pyright

check-rest:
	$(BIN)/lint-imports
	$(BIN)/python scripts/lengths.py
	$(BIN)/python scripts/names.py
	$(BIN)/python -m migrations.apply --check
	$(BIN)/python -m scripts.console check

console: setup-dev ## Build the console (needs Node) into api/console
	@$(BIN)/python -m scripts.console build

console-packages:
	@python3 -m scripts.console packages

bench: setup-dev ## Run the benchmarks
	@$(BIN)/python -m benchmarks $(ARGS)

soak: setup-dev ## Run the slow load and soak tests
	@$(BIN)/python -m scripts.services $(BIN)/python -m pytest -m soak $(ARGS)

clean: ## Remove everything that the other commands made, except the data folder
	rm -rf .venv .ruff_cache .pytest_cache .import_linter_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	find tests web -name node_modules -type d -prune -exec rm -rf {} +

setup:
	@scripts/setup.sh run

setup-dev:
	@scripts/setup.sh dev
