# `make help` lists the targets. Every target that needs Python sets up .venv first.

SHELL := /bin/bash
PYTHON ?= python3
BIN := .venv/bin
PROJECTS := scoring core starting_kit analysis studies worker platform
READY := .venv/.ready
CORES := $(shell getconf _NPROCESSORS_ONLN)
# One process more than there are cores: with as many, a tenth of the time is spent waiting for servers and sandboxes.
ON_ALL_CORES := $(BIN)/python -m pytest -n $(shell echo $$(($(CORES) + 1))) --durations=25
export ANYSHOT_ROOT := $(CURDIR)
unexport PYTHONDONTWRITEBYTECODE  # uv compiles nothing: every process would compile all of torch again

.DEFAULT_GOAL := help

help:  ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z][a-z-]*:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY)  ## Create .venv with every package of the project in it

# The stamp depends on what decides the content of .venv; editable installs make code changes visible without it.
$(READY): about/version.txt about/metadata.py constraints.txt tests/requirements.txt $(PROJECTS:%=%/pyproject.toml) releasing/reference.py
	@command -v $(PYTHON) >/dev/null || { echo "Python 3.11 to 3.13 is needed; set PYTHON=..."; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' \
		|| { echo "Python 3.11 to 3.13 is needed, found $$($(BIN)/python --version): remove .venv, and set PYTHON=..."; exit 1; }
	@echo "Setting up .venv (about two minutes the first time, 5.5 GB)"
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt uv
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --constraint constraints.txt \
		--requirement tests/requirements.txt torchvision timm $(PROJECTS:%=--editable %)
	@$(BIN)/python -m releasing.reference
	@touch $@

demo: $(READY)  ## Run the main job end to end and print the leaderboard (ARGS=--exit stops the server after it)
	@$(BIN)/anyshot admin demo $(ARGS)

# Long tests and long lists rotate: the slice is the number of commits, modulo 20. A landing of several commits skips the
# slices between; what is marked `seconds` has 4 slices, lists marked rotating(2) have 40, the mutants 200.
# Only `make test-all` is sure to run all.
SLICE := $(or $(ANYSHOT_ROTATE),$(shell git rev-list --count HEAD 2>/dev/null || echo 0)/20)

test: $(READY)  ## Run the test suite on all cores, of its long lists the slice of this commit (ARGS= is passed to pytest)
	@echo "Of what takes long: slice $(SLICE) (make test-all runs all of it)"
	@ANYSHOT_ROTATE=$(SLICE) $(ON_ALL_CORES) $(ARGS)

# What starts a site, builds packages or runs commands stays out, and is not even imported.
QUICK := tests/scoring tests/core tests/starting_kit/runner tests/analysis tests/studies tests/worker tests/architecture tests/baselines
test-fast: $(READY)  ## Of `make test`, what needs no site, no sandbox, no browser, no training and no second or two
	@ANYSHOT_ROTATE=$(SLICE) $(BIN)/python -m pytest -n $(CORES) --durations=25 -m "not docker and not browser and not training and not slow and not seconds" \
		$(QUICK) $(ARGS)

test-all: $(READY)  ## Run the test suite with the whole of the lists of which `make test` runs a slice
	@ANYSHOT_ROTATE=all $(ON_ALL_CORES) $(ARGS)

compile: $(READY)  ## Compile what the suite imports, so that its processes need not do it each
	@$(BIN)/python -m pytest --collect-only -q

# The part "the site" of the hostile suite: docs/operators/threats.md says what each of them tries.
SITE_ATTACKS = $(addprefix tests/platform/,core/test_secrets.py admin/test_smoke_pool.py admin/test_pack_rights.py \
	core/test_admission.py core/test_loops.py core/test_confined.py core/test_budgets.py core/test_boundary.py \
	core/test_people.py core/test_sealing.py core/test_access.py \
	core/test_races.py core/test_knowing.py core/test_names.py admin/test_pinned_image.py web/test_formulas.py)

hostile: $(READY)  ## Throw the whole hostile suite at the sandbox and at the site
	@ANYSHOT_ROTATE=all $(ON_ALL_CORES) tests/hostile $(SITE_ATTACKS) $(ARGS)

fuzz: $(READY)  ## Knock at every operation of the API as every role, on both databases (ANYSHOT_FUZZ=40 requests each)
	@ANYSHOT_ROTATE=all ANYSHOT_FUZZ=$${ANYSHOT_FUZZ:-40} $(ON_ALL_CORES) --hypothesis-profile default \
		tests/platform/core/test_openapi.py $(ARGS)

hostile-site: $(READY)  ## Only its part "the site": attacks on secrets, rights, people, doors; floods and races on loopback
	@$(ON_ALL_CORES) $(SITE_ATTACKS) $(ARGS)

coverage: $(READY)  ## Lines and branches of scoring, core and what decides in the platform that the quick tests run; fails below 95 %, of branches alone too
	@$(BIN)/python -m tests.coverage_gate $(ARGS)

mutants: $(READY)  ## Apply each small wrong change of tests/mutants, and demand that its tests fail (NAME=area or words)
	@$(BIN)/python -m tests.mutants $(NAME)

record: $(READY)  ## Write anew what real workers and the real platform say to each other (tests/contract/recorded)
	@ANYSHOT_RECORD=1 $(BIN)/python -m pytest -q tests/contract && $(BIN)/python -m pytest -q tests/contract/test_recorded.py

compose: $(READY)  ## Bring docker-compose.yml up on images of Debian's packages and send a submission through it
	@ANYSHOT_COMPOSE=1 $(BIN)/python -m pytest tests/end_to_end/test_compose.py $(ARGS)

slurm: $(READY)  ## Let ten submissions run as jobs of a real Slurm cluster of one node (Debian's slurm-wlm and munge)
	@ANYSHOT_ROTATE=all $(BIN)/python -m pytest -n 0 tests/end_to_end/test_slurm.py $(ARGS)

BENCHMARKS := $(patsubst benchmarks/%/__main__.py,%,$(wildcard benchmarks/*/__main__.py))
bench: $(READY)  ## Run a benchmark: NAME=episodes (without a name: their list)
	@test -n "$(NAME)" || { echo "Say which, as make bench NAME=episodes: $(BENCHMARKS)"; exit 2; }
	@$(BIN)/python -m benchmarks.$(NAME) $(ARGS)

# Without .venv: a machine with a GPU has a torch of its own, and maybe no network (`make gpu-carried` on one that has).
GPU_PYTHON ?= $(shell python3 -c 'import torch' 2>/dev/null && echo python3 || echo $(BIN)/python)
gpu:  ## Measure all that needs a GPU, in at most eight minutes, with this machine's torch; exit code 3 where there is none
	@$(GPU_PYTHON) -m benchmarks.gpu $(ARGS)

gpu-carried:  ## Fetch into .carried/ what a machine without network may lack for `make gpu`
	@$(PYTHON) -m benchmarks.gpu.carried .carried

STATIC := platform/anyshot_platform/static core/anyshot_core/browser_charts/static
TEMPLATES := platform/anyshot_platform/templates core/anyshot_core/report/templates
lint: $(READY)  ## Check style, types, templates, styles, scripts, and the boundaries between packages
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/pyright && $(BIN)/lint-imports
	@$(BIN)/djlint --lint --quiet --configuration pyproject.toml $(TEMPLATES) && $(BIN)/biome ci $(STATIC) && $(BIN)/python -m tests.architecture.templates --check

structure: $(READY)  ## Print how the code's rooms stand: cycles, unexplained modules, kinds, templates, names, lines (ARGS=--modules|--edges|--names|--unused)
	@$(BIN)/python -m tests.architecture.structure $(ARGS)

format: $(READY)  ## Rewrite code, templates, styles and scripts in the house style
	@$(BIN)/ruff check --fix . ; $(BIN)/ruff format . ; $(BIN)/biome format --write $(STATIC) ; $(BIN)/python -m tests.architecture.templates

docs: $(READY)  ## Build the documentation site into site/
	@$(BIN)/mkdocs build --strict

# Versions that are pinned already stay unless they have to go; ARGS=--upgrade moves all of them.
COMPILE = $(BIN)/uv pip compile --quiet --universal --no-header --no-annotate --python-version 3.11 \
	$(foreach name,$(subst _,-,$(PROJECTS)),--no-emit-package anyshot-$(name))
pins: $(READY)  ## Write constraints.txt anew: what packages and tests ask for, for Python 3.11 to 3.13
	@printf '%s\n' ./scoring './core[results]' './starting_kit[torch]' ./analysis ./studies './worker[analysis]' ./platform torchvision timm \
		| $(COMPILE) --output-file constraints.txt $(ARGS) - tests/requirements.txt >/dev/null

hashes: $(READY)  ## Write what the images install, each file by its hash, and generated pages; goes before building them
	@$(BIN)/python -m releasing.reference
	@$(BIN)/python -m releasing.hashes

release: $(READY)  ## Release VERSION=x.y.z into dist/: packages, images, inventories, documentation, a tried upgrade (ARGS=--dry-run)
	@test -n "$(VERSION)" || { echo "Say which: make release VERSION=x.y.z"; exit 2; }
	@$(BIN)/python -m releasing $(VERSION) $(ARGS)

migration: $(READY)  ## Write a database revision from the models: NAME="Add what"
	@test -n "$(NAME)" || { echo 'Say what it does: make migration NAME="Add ..."'; exit 2; }
	@$(BIN)/anyshot admin make-migration "$(NAME)"

image: $(READY)  ## Build the sandbox image unless it is there (ARGS="--flavour gpu" for GPUs)
	@$(BIN)/anyshot worker image build $(ARGS)

reproduce: $(READY)  ## List the papers' tables and figures: done, stands in, not possible here; NAME=... runs a study anew (docs/reproductions/index.md)
	@if [ -n "$(NAME)" ]; then $(BIN)/python -m anyshot_studies.reproduce $(NAME) --out docs/reproductions $(ARGS); else $(BIN)/anyshot reproduce $(ARGS); fi

clean:  ## Remove .venv and what was built
	rm -rf .venv site .pytest_cache .ruff_cache

.PHONY: help compile setup demo test test-fast test-all hostile fuzz hostile-site coverage mutants record compose slurm bench gpu gpu-carried lint structure format docs pins hashes release migration image reproduce clean
