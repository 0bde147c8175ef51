# Two commands do everything on a machine with Python >= 3.11, make and git: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test fuzz honest tamper lint bench reproduce docs docs-reference docs-tutorial format clean

demo: $(VENV)/.installed
	$(BIN)/kepsilon demo -o kepsilon-demo

# Many tests start a command of their own, which takes twice as long where Python has to compile the package first; some
# machines tell it not to keep what it compiled.
test: $(VENV)/.installed-test
	$(BIN)/python -m compileall -q src
	$(BIN)/python -m pytest -n auto

# Two rigs with random cases (tests/rigs); `make test` runs a part of them with fixed seeds.
# SEED is the first case, a random one unless it is given; a failure prints the seed that repeats it.
SECONDS ?= 300
N ?= 2000
fuzz: $(VENV)/.installed-test
	PYTHONPATH=tests $(BIN)/python -m rigs.fuzz --seconds $(SECONDS) $(if $(SEED),--seed $(SEED))

honest: $(VENV)/.installed-test
	PYTHONPATH=tests $(BIN)/python -m rigs.honest --number $(N) $(if $(SEED),--seed $(SEED))

# Every tampering that the audit has to notice, by name.
tamper: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n auto -v tests/auditing/test_tamperings.py tests/auditing/test_tampered_releases.py

lint: $(VENV)/.installed-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tools/check_imports.py

format: $(VENV)/.installed-lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/run.py

# The paper's evaluation, and the documentation's page about it; Adult's folder in KEPSILON_DATA.
reproduce: $(VENV)/.installed
	$(BIN)/kepsilon reproduce -o reproduction
	$(BIN)/python tools/write_reproduced.py reproduction

# The site: open build/site/index.html in a browser; no server is needed. A warning is an error.
docs: $(VENV)/.installed-docs
	$(BIN)/python -m sphinx -W --keep-going -q -d build/doctrees docs build/site
	@echo "the site is in build/site/index.html"

# The pages of the documentation that follow from the code: commands, keys, errors, names, promised sentences.
docs-reference: $(VENV)/.installed
	$(BIN)/python tools/write_reference.py

# What the commands of the tutorial print, run again.
docs-tutorial: $(VENV)/.installed
	$(BIN)/python tools/write_tutorial.py

clean:
	rm -rf build $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis kepsilon-demo reproduction

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "kepsilon needs Python 3.11 or newer; try make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)

# Each stamp stands for one set of packages, so that `make demo` does not wait for the tests' oracles.
$(VENV)/.installed: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install -q -c constraints.txt -e .
	touch $@

$(VENV)/.installed-%: $(VENV)/.installed
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[$*]'
	touch $@
