# Everything from nothing: `make demo` runs the main job, `make test` every check, `make docs` builds the site.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test test-slow lint docs coverage browser bench clean
.DELETE_ON_ERROR:

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "softlabel needs Python 3.11 or newer; set PYTHON=/path/to/python3.11")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV) (once) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: $(READY)
	@$(BIN)/softlabel reproduce table1 --preset quick

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache
	$(BIN)/basedpyright

# The page is tested in a browser where there is one; as root on Debian it is installed, elsewhere those tests skip.
browser:
	@command -v chromium >/dev/null || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
	  && { echo "installing chromium (once) ..."; apt-get update -qq && \
	       DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium; } >/dev/null 2>&1; } || true

test: lint browser
	$(BIN)/pytest -n 2 --dist worksteal -m 'not slow'

# The site in docs/_build/html. Warnings are errors; tests/test_docs.py builds it too and follows its internal links.
docs: $(READY)
	$(BIN)/python -m sphinx -b html -W --keep-going -q -d docs/_build/doctrees docs docs/_build/html
	@echo "built docs/_build/html/index.html"

# Line and branch coverage of the quick tests, in worker processes too; the report is htmlcov/index.html.
coverage: $(READY) browser
	$(BIN)/pytest -n 2 -m 'not slow' --cov --cov-report=term:skip-covered --cov-report=html

test-slow: $(READY)
	$(BIN)/pytest -m slow

bench: $(READY)
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) docs/_build docs/reference/api docs/reference/command-line.md htmlcov .coverage
