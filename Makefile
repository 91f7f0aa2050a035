# gt2lite: every command of the project. `make help` lists them.
#
# Each target brings its own set-up: a virtual environment in .venv with exactly
# the packages of requirements.lock. All paths are relative, so the checkout may
# live in a directory whose name has spaces.

PYTHON ?= python3
PROFILE ?= full
UV ?= uv
UV_VERSION := 0.13.8
ARGS ?=
SOLUTIONS ?= 1

VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check --no-input -qq
EXTRAS := plot sklearn parallel report study book

# One BLAS thread in each process: the processes are what runs in parallel.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1
export MKL_NUM_THREADS := 1
# What a user wrote in one of these reaches the programs as it is: neither make nor a shell expands it.
GIVEN := NAME PARAMS PROFILE ARGS CSV TARGET LEVELS GROUP TIME SOLUTIONS WHEELS
$(foreach name,$(GIVEN),$(eval override $(name) := $$(value $(name))))
export $(GIVEN)
# Packages from outside .venv must not leak in.
unexport PYTHONPATH PYTHONHOME

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help book pdf slides class graders lab chapter own reproduce comparison study bench data \
  check test lint type stress lowest pictures setup lock clean distclean wheel release

help:
	@echo 'Usage: make COMMAND'
	@awk -F ':.*## ' '/^### / { print substr($$0, 5) } /^[a-z]+:.*## / { printf "  %-10s  %s\n", $$1, $$2 }' Makefile

### Read
book: $(VENV)/.stamp ## Run all chapters, build _build/html/index.html (PROFILE=quick, SOLUTIONS=0)
	@$(PY) tools/book.py build

pdf: $(VENV)/.stamp ## Print the book to _build/gt2lite.pdf (needs Chromium)
	@$(PY) tools/book.py pdf

slides: $(VENV)/.stamp ## Print the slides of three lectures to _build/slides/ (needs Chromium)
	@$(PY) tools/book.py slides

class: $(VENV)/.stamp ## Make bundles for students and lecturers in dist/ (WHEELS="3.12 3.13", or 0 for none)
	@$(PY) tools/classroom.py

graders: $(VENV)/.class ## Grade a right, a wrong and an empty lab by nbgrader and Otter-Grader
	@$(PY) -m pytest -q tests/book/test_graders.py

lab: $(VENV)/.lab ## Open JupyterLab on copies of the chapters (SOLUTIONS=0, ARGS for JupyterLab)
	@$(PY) tools/args.py $(PY) tools/book.py lab --

### Run
chapter: $(VENV)/.stamp ## Run one chapter: NAME=type2_sets PARAMS="sigma=2 s_r=0.5"
	@$(PY) tools/book.py chapter

own: $(VENV)/.stamp ## Analyse your data: CSV=houses.csv TARGET=price LEVELS="0.8 0.9" (GROUP=, TIME=)
	@$(PY) tools/own.py

reproduce: $(VENV)/.stamp ## Repeat the paper's experiment; print tables and verdicts (ARGS="--seeds 20" for more)
	@$(PY) tools/args.py $(PY) -m study reproduce

comparison: $(VENV)/.competitors ## Run the method comparison; update data/results/ (hours)
	@$(PY) tools/args.py $(PY) -m study comparison

study: $(VENV)/.competitors ## Recompute every stored result; print what moved beyond tolerance (hours)
	@$(PY) tools/args.py $(PY) -m study study

bench: $(VENV)/.bench ## Run every benchmark (installs JAX and PyTorch)
	@set -e; for script in benchmarks/[!_]*.py; do echo "== $$script"; $(PY) "$$script"; done

data: $(VENV)/.stamp ## Extract the data sets in data/ again from their sources
	@$(PY) data/extract.py

### Develop
# Types are checked while the tests run: mypy uses one core only.
BESIDE := book stress study test_benchmarks.py test_wheel.py
NOT_QUICK := $(BESIDE) plots report test_sklearn.py test_threads.py
check: lint ## Check style and types, run the quick tests (about a minute)
	@$(PY) -m mypy & types=$$!; \
	$(PY) tools/args.py $(PY) -m pytest -n auto --dist worksteal -q -m 'not slow and not browser' tests \
	  $(NOT_QUICK:%=--ignore=tests/%); tests=$$?; \
	wait $$types && exit $$tests

test: $(VENV)/.stamp ## Run all tests; those of pages need `make book` (ARGS="-k reduction" for some)
	@$(PY) tools/args.py $(PY) -m pytest -n auto --dist worksteal

lint: $(VENV)/.stamp ## Check style, formatting, spelling, notebooks without outputs, workflows
	@$(PY) -m ruff check --quiet .
	@$(PY) -m ruff format --check --quiet . || \
	  { echo 'Some files need formatting: $(PY) -m ruff format .' >&2; exit 1; }
	@$(VENV)/bin/codespell
	@$(PY) -m nbstripout --verify --keep-id chapters/*.ipynb chapters/*/*.ipynb || \
	  { echo 'Some notebooks carry outputs: $(PY) -m nbstripout --keep-id chapters/*.ipynb chapters/*/*.ipynb' >&2; exit 1; }
	@$(VENV)/bin/zizmor --offline --quiet --no-progress .github/workflows

type: $(VENV)/.stamp ## Check types
	@$(PY) -m mypy

stress: $(VENV)/.stamp ## Run the property tests at length; print their counts (ARGS for pytest)
	@$(PY) tools/args.py $(PY) -m pytest -n auto --dist worksteal --hypothesis-profile=stress --hypothesis-show-statistics tests/stress

# Old versions beside new ones warn of deprecations that are not ours.
LOWEST := _build/lowest
lowest: ## Test the package with the lowest versions that pyproject.toml allows
	@$(PYTHON) -m venv --clear $(LOWEST)
	@$(LOWEST)/bin/python -m pip --disable-pip-version-check --no-input -qq install uv==$(UV_VERSION)
	@$(LOWEST)/bin/uv pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct \
	  --editable '.[plot,sklearn,report,parallel]' 'hypothesis>=6.100' 'pytest>=9' 'pytest-xdist>=3.8'
	@$(LOWEST)/bin/uv pip list --quiet --python $(LOWEST)/bin/python
	@$(LOWEST)/bin/python -m pytest -n auto --dist worksteal -q -m 'not slow and not browser' \
	  -W ignore::DeprecationWarning tests $(BESIDE:%=--ignore=tests/%)

pictures: $(VENV)/.stamp ## Draw the pictures in assets/ again: headline, method, modules
	@$(PY) tools/headline.py
	@$(PY) tools/overview.py
	@$(PY) tools/modules.py

setup: $(VENV)/.stamp ## Create the virtual environment (other commands do so when needed)

lock: ## Solve requirements.lock again (ARGS=--upgrade for newer versions; needs uv)
	@command -v $(UV) >/dev/null || { echo 'make lock needs uv: python3 -m pip install uv' >&2; exit 1; }
	@$(PYTHON) tools/args.py $(UV) pip compile pyproject.toml $(EXTRAS:%=--extra %) --group dev --output-file requirements.lock --quiet \
	  --universal --python-version 3.11 --fork-strategy fewest --generate-hashes \
	  --no-emit-index-url --custom-compile-command 'make lock'

clean: ## Remove build outputs, keep the environment
	@rm -rf _build build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
	@find . -path './$(VENV)' -prune -o -name __pycache__ -type d -exec rm -rf {} +

distclean: clean ## Remove the environment as well
	@rm -rf $(VENV)

### Release
wheel: $(VENV)/.stamp ## Build wheel and sdist into dist/, test them in an empty environment
	@$(PY) tools/wheel.py

release: $(VENV)/.stamp ## Recompute a sample of the results, then build all artefacts into dist/
	@$(PY) tools/release.py

# The environment holds what the lock says and nothing else: a new lock makes a
# new one. A stamp is the last act of its rule, so an interrupted set-up leaves
# none and the next call starts afresh.
$(VENV)/.locked: requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo 'gt2lite needs Python 3.11 or later, and "$(PYTHON)" is not one.' >&2; \
	  echo 'Install it (Debian, Ubuntu: apt-get install python3 python3-venv; macOS: brew install python)' >&2; \
	  echo 'or name another one: make PYTHON=python3.12 $(MAKECMDGOALS)' >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo '"$(PYTHON)" cannot make virtual environments: its module venv or ensurepip is absent.' >&2; \
	  echo 'On Debian and Ubuntu: apt-get install python3-venv' >&2; exit 1; }
	@echo 'Setting up $(VENV) with the locked packages (once, about a minute) ...'
	@$(PYTHON) -m venv --clear $(VENV)
	@# uv is several times as fast as pip; if it fails for any reason, pip does the same. Without
	@# compiled files every kernel of the book would compile its imports again.
	@{ $(PIP) install uv==$(UV_VERSION) && \
	  $(VENV)/bin/uv pip install --quiet --compile-bytecode --python $(PY) --require-hashes --requirement requirements.lock; } \
	  2>/dev/null || $(PIP) install --require-hashes --requirement requirements.lock
	@touch $@

$(VENV)/.stamp: $(VENV)/.locked pyproject.toml
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.bench: $(VENV)/.stamp
	@echo 'Adding the packages of the extra "bench" ...'
	@$(PIP) install --no-build-isolation --editable '.[bench]'
	@touch $@

$(VENV)/.competitors: $(VENV)/.stamp
	@echo 'Adding the packages of the extra "competitors" ...'
	@$(PIP) install --no-build-isolation --editable '.[competitors]'
	@touch $@

$(VENV)/.class: $(VENV)/.stamp
	@echo 'Adding the packages of the extra "class" ...'
	@$(PIP) install --no-build-isolation --editable '.[class]'
	@touch $@

$(VENV)/.lab: $(VENV)/.stamp
	@echo 'Adding the packages of the extra "lab" (once, about a minute) ...'
	@$(PIP) install --no-build-isolation --editable '.[lab]'
	@touch $@
