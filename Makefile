# Two commands do everything, set-up included: `make demo` and `make test`.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test setup clean

demo: setup
	$(BIN)/prm demo

test: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 -q  # two workers of one thread each: four threads on two cores crawl

setup: $(VENV)/.ready

# The stamp is written last, so an install that was cut short is done again.
$(VENV)/.ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "prmkit needs Python 3.11 or newer; name one with: make PYTHON=python3.11 ..."; exit 1; }
	@$(PYTHON) -m venv $(VENV) \
	  || { echo "no venv module here; on Debian or Ubuntu: apt install python3-venv"; exit 1; }
	$(BIN)/pip install --quiet -e '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV) runs
