# Everything a person or CI does here. `make` alone lists it; ARGS reaches pytest: make unit ARGS="-k search"
.DEFAULT_GOAL := help
.PHONY: help run wheel test unit integration contracts e2e docs web browser screenshots soak matrix drift coverage bench check fmt shape venv lock clean

BIN := .venv/bin
# Two workers fit the smallest machine we promise; whole files stay together, so their servers start once.
PYTEST := $(BIN)/python -m pytest
PARALLEL := -n 2 --dist loadfile
ARGS :=

help: ## list these recipes
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' Makefile

run: ## set up what is missing and start Sojourn
	@scripts/bootstrap run
	@scripts/web || echo "web: the pages could not be built; everything else works" >&2
	@$(BIN)/sojourn welcome
	@$(BIN)/sojourn dashboard

wheel: web ## the package, into dist/: for uv tool install, pipx and uvx
	@rm -rf dist
	@$$(scripts/bootstrap --uv) build --quiet --wheel --build-constraint requirements/boot.lock --python $(BIN)/python
	@ls dist/*.whl

test: check web ## check, then every test but the soak
	@scripts/need chromium chromium --version || echo "test: without Chromium the pages are left out" >&2
	@scripts/need bubblewrap bwrap --version || echo "without bubblewrap the sandbox is not complete" >&2
	$(PYTEST) $(PARALLEL) --hypothesis-profile=ci tests $(ARGS)

unit: venv ## the quick tests, well under half a minute
	$(PYTEST) -n 2 --dist worksteal -p no:schemathesis tests/unit $(ARGS)

integration: venv ## whole packages with their neighbours, in one process
	@scripts/need bubblewrap bwrap --version || echo "without bubblewrap the sandbox is not complete" >&2
	$(PYTEST) $(PARALLEL) tests/integration $(ARGS)

contracts: venv ## one suite per port, on every implementation
	$(PYTEST) $(PARALLEL) tests/contracts $(ARGS)

e2e: venv ## the installed program, started, killed and starved
	@scripts/need bubblewrap bwrap --version || echo "without bubblewrap the sandbox is not complete" >&2
	$(PYTEST) $(PARALLEL) tests/e2e $(ARGS)

docs: venv ## what the documentation promises, its examples included
	$(PYTEST) $(PARALLEL) tests/docs $(ARGS)

web: venv ## build the pages, with the machine's Node or one that is fetched
	@scripts/web

browser: web ## the pages in a real browser
	@scripts/need chromium chromium --version
	$(PYTEST) $(PARALLEL) tests/browser $(ARGS)

screenshots: web ## pictures of every page, into docs/img
	@scripts/need chromium chromium --version
	$(BIN)/python scripts/screenshots.py

soak: venv ## the full chaos and kill bars; takes long
	$(PYTEST) -m soak --timeout 0 tests $(ARGS)

matrix: venv ## the vendors' own clients on our test servers, each in an environment of its own that is fetched
	$(PYTEST) -m matrix tests/witnesses $(ARGS)

drift: venv ## newest versions of other agents: do their histories still look as recorded, and come in?
	$(BIN)/python -m tests.witnesses.drift $(ARGS)

# Child processes are measured too: coverage starts with them (`patch` in pyproject.toml).
coverage: venv ## branch coverage of sojourn/ by every test but the browser's and the soak; takes long
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest $(PARALLEL) --ignore tests/browser tests $(ARGS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

bench: venv ## the full measurements, kept in bench/results
	$(BIN)/python -m bench $(ARGS)

check: venv ## ruff, mypy, import contracts, names, sizes, licences, and the sources of the pages
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python -m scripts.check_names
	$(BIN)/python -m scripts.check_licences
	$(PYTEST) -q -n 0 tests/unit/dashboard/test_chinese_texts.py
	@scripts/web --check

fmt: venv ## format, and mend what ruff and Biome can mend
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .
	@scripts/web --format

shape: venv ## sizes and names, each figure beside its goal
	@$(BIN)/python -m scripts.shape sojourn

venv: ## the development environment in .venv
	@scripts/bootstrap dev
	@scripts/model

lock: ## compile the lock files again; ARGS=--upgrade takes newer versions
	scripts/lock $(ARGS)

clean: ## remove all that was made here
	rm -rf .coverage .coverage.* .venv .venv-boot .venv-node web/node_modules sojourn/dashboard/static dist build .hypothesis .*_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
