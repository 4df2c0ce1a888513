# make demo | test | fuzz | lint | bench | tables | docs | gallery | clean; needs Python >= 3.11 with venv, and nothing else.
# Another Python: make demo PYTHON=python3.12

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
SNAKEMAKE := $(BIN)/snakemake --workflow-profile workflow/profiles/default
PYTEST := $(BIN)/python -m pytest
# a file's tests run in one process, so that what they share is made once
WORKERS := -n logical --maxprocesses 8 --dist loadfile --no-loadscope-reorder

.PHONY: help demo test test-cpu test-cuda fuzz kills slurm lint bench tables reproduce docs gallery clean

help:
	@echo "make demo   align ten human loci with ten mouse mRNAs and their proteins and show the best chains"
	@echo "make test   run all tests"
	@echo "make fuzz   try damaged files and hostile options: INPUTS=20000"
	@echo "make kills  kill commands and the workflow at random moments: KILLS=300 WORKFLOW_KILLS=30"
	@echo "make slurm  run the tests that need SLURM (as root, tests/slurm/one_node.sh start)"
	@echo "make lint   check style, docstrings and workflow"
	@echo "make bench  run the benchmarks that need no data of their own"
	@echo "make tables write the tables of pages from the benchmarks' records"
	@echo "make reproduce  write one page of the sources' tables and figures: FRESH=1 measures the time model here"
	@echo "make docs   write the site of all pages to site/; a broken link is an error"
	@echo "make gallery  make the pictures of the gallery again"
	@echo "make clean  remove results, logs and the virtual environment"

demo: $(VENV)/.installed
	@mkdir -p logs
	@$(BIN)/gpu-tools warm-up exons spliced-align
	@echo "running the workflow; its log is logs/demo.log"
	@$(SNAKEMAKE) --configfile config/demo.yaml >logs/demo.log 2>&1 || { cat logs/demo.log >&2; exit 1; }
	@$(BIN)/python workflow/report/best_chains.py results

# make --jobs 2 test has both side by side: one process at a time compiles; the simulator fills gaps
test: test-cpu test-cuda

test-cpu: $(VENV)/.tests
	$(PYTEST) $(WORKERS) -m "not slurm"

test-cuda: $(VENV)/.tests
	NUMBA_ENABLE_CUDASIM=1 $(PYTEST) $(WORKERS) -m cuda $$(grep -rl 'mark\.cuda' tests --include='*.py')

# another seed, other inputs: make fuzz INPUTS=1000000 SEED=2 PROCESSES=16 RECORD=fuzz.json
INPUTS ?= 20000
KILLS ?= 300
WORKFLOW_KILLS ?= 30
SEED ?= 1
PROCESSES ?= $(shell nproc)
RECORDED := $(if $(RECORD),--record $(RECORD))

fuzz: $(VENV)/.tests
	$(BIN)/python -m tests.fuzz --inputs $(INPUTS) --seed $(SEED) --processes $(PROCESSES) $(RECORDED)

kills: $(VENV)/.tests
	$(BIN)/python -m tests.kills --kills $(KILLS) --workflow $(WORKFLOW_KILLS) --seed $(SEED) --processes $(PROCESSES) $(RECORDED)

slurm: $(VENV)/.tests
	$(PYTEST) -m slurm -s

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python docs/check_docstrings.py
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/snakemake --lint

bench: $(VENV)/.tests
	@for program in $$(grep -L needs_folder=True benchmarks/*/bench_*.py); do echo "$$program"; name=$${program%.py}; $(BIN)/python -m "$$(echo "$$name" | tr / .)" || exit 1; done

tables: $(VENV)/.installed
	$(BIN)/python -m benchmarks.tables

reproduce: $(VENV)/.installed
	$(BIN)/python -m benchmarks.reproduce $(if $(FRESH),--fresh)

docs: $(VENV)/.lint
	$(BIN)/python docs/api_table.py --check
	@rm -rf site
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going -c docs -b html . site
	@echo "open site/index.html"

gallery: $(VENV)/.installed
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python docs/gallery.py

clean:
	rm -rf $(VENV) site reproduced results logs .snakemake .pytest_cache .ruff_cache .hypothesis

# Stamp files: a second call installs nothing, a changed pyproject.toml installs again.
$(VENV)/.pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "$(PYTHON) is missing or older than Python 3.11; name another one: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
	  || { echo "$(PYTHON) cannot make virtual environments; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@echo "making the virtual environment $(VENV)"
	@$(PYTHON) -m venv --clear $(VENV)
	@$(PIP) install --upgrade "pip>=25.1"
	@touch $@

$(VENV)/.installed: $(VENV)/.pip pyproject.toml
	@echo "installing gpu-tools and Snakemake"
	@$(PIP) install --editable ".[workflow]"
	@touch $@

$(VENV)/.tests: $(VENV)/.installed
	@echo "installing what the tests need"
	@$(PIP) install --group tests
	@touch $@

$(VENV)/.lint: $(VENV)/.installed
	@echo "installing what the checks of style need"
	@$(PIP) install --group lint
	@touch $@
