# Every target works on a machine that has only Python 3.11 or later.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
SERVES := $(VENV)/.serves
PIP := $(BIN)/python -m pip install --disable-pip-version-check

# A virtual environment that could not be finished is begun again.
.DELETE_ON_ERROR:
.PHONY: help serve sh test quick check hard fuzz clients screenshots bench docs site lock clean

help: ## Show this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Toolwire needs Python 3.11 or later: make PYTHON=python3.12 ..."; exit 1; }
	@$(PYTHON) -m venv $(VENV)

# What serving needs: the gateway and the engine of the embedded model, about 180 MB.
$(SERVES): requirements/serve.txt pyproject.toml | $(BIN)/python
	@echo "Installing the gateway and the embedded engine into $(VENV) (once, about 180 MB) ..."
	@$(PIP) --require-hashes -r requirements/serve.txt
	@$(PIP) --quiet --no-deps --no-build-isolation --editable .
	@touch $@

# Everything else, too: tests, linters, Node for the clients.
$(READY): requirements/dev.txt pyproject.toml | $(BIN)/python
	@echo "Installing everything for development into $(VENV) (once, about 900 MB) ..."
	@$(PIP) --require-hashes -r requirements/dev.txt
	@$(PIP) --quiet --no-deps --no-build-isolation --editable .
	@touch $@ $(SERVES)

serve: $(SERVES) ## Install and start the gateway; ARGS="--upstream http://localhost:8000/v1"
	@$(BIN)/toolwire serve $(ARGS)

sh: $(SERVES) ## A shell with `toolwire` on its PATH
	@PATH="$(CURDIR)/$(BIN):$$PATH" $${SHELL:-sh}

test: $(READY) ## Install and run every test but those that measure time
	@$(BIN)/python -m pytest --numprocesses auto --dist loadfile -m "not timed" $(ARGS)

quick: $(READY) ## The unit and contract tests that start no process, in under a minute
	@$(BIN)/python -m pytest --numprocesses auto --dist worksteal \
	  -m "not process and not timed and not slow" --ignore tests/unit/scripted \
	  tests/unit tests/contract $(ARGS)

check: $(READY) ## Lint, format, types, layers
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

hard: $(READY) ## Run every row of docs/hardening.md in full size (hours); ARGS="R7 R13", ARGS=fuzz
	@$(BIN)/python -m tests.hard $(ARGS)

fuzz: $(READY) ## Fuzz every parser for a minute; ARGS="sse --seconds 600 --seed 1"
	@$(BIN)/python -m tests.fuzz $(ARGS)

clients: $(READY) ## Run every real client end to end (downloads them); writes docs/clients.md
	@TOOLWIRE_CLIENTS=all TOOLWIRE_CLIENTS_RECORD=docs/clients.json \
	  $(BIN)/python -m pytest tests/e2e -m client --numprocesses 2 --dist worksteal $(ARGS); \
	  code=$$?; $(BIN)/python docs/generate.py; exit $$code

screenshots: $(READY) ## Retake the pictures of docs/inspector.md
	@TOOLWIRE_SCREENSHOTS=1 $(BIN)/python -m pytest tests/e2e/inspector/test_screenshots.py

bench: $(READY) ## Measure the gateway next to nginx
	@$(BIN)/python benchmarks/gateway.py --quick $(ARGS)

docs: $(READY) ## Regenerate the pages that come from the code
	@$(BIN)/python docs/generate.py

site: $(READY) ## Build the documentation as a site in build/site; it needs no network
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "To read it, open build/site/index.html"

LOCK := uv pip compile --universal --python-version 3.11 --generate-hashes --no-header \
  --no-emit-index-url --no-strip-extras --quiet pyproject.toml

lock: ## Update the pinned dependencies (needs uv)
	$(LOCK) -o requirements/runtime.txt
	$(LOCK) --extra embedded --group build -o requirements/serve.txt
	$(LOCK) --extra embedded --extra client --extra mcp --extra redis --group dev -o requirements/dev.txt

CACHES := .cache .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis

clean: ## Remove what these targets made in this folder; the weights stay (see docs/install.md)
	rm -rf $(VENV) $(CACHES) build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
