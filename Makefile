# Everything runs in .venv, which the targets make themselves unless it is there. What must be there: Python 3.11 or
# newer, and make.

VENV    := .venv
BIN     := $(VENV)/bin
SMOKE   := .smoke
# The interpreter for .venv; by default the newest that works. For example: make test PYTHON=python3.12
PYTHON  ?=
# Continuous integration also tries every other Python on the machine.
TESTED  := $(if $(CI),smoke)

.DEFAULT_GOAL := help
.PHONY: help demo test test-long smoke lint format clean dev environment

help: ## show this list
	@echo "usage: make TARGET [PYTHON=python3.12]"
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

demo: environment ## train a physics-informed network; writes a plot and the compiler's IR to build/demo
	@$(BIN)/python examples/pinn_poisson.py --out build/demo

test: environment $(TESTED) ## run pytest and lit (with CI set: `make smoke` as well)
	@$(call check,)

test-long: environment ## the same with the slow tests and many more random examples
	@QUABLA_TESTS=long; export QUABLA_TESTS; $(call check,-m "slow or not slow")

smoke: environment ## install and try the package under every other Python >= 3.11 on this machine
	@$(BIN)/python tests/run_smoke.py $(SMOKE)

lint: environment ## ruff and pyright
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/pyright

format: environment ## let ruff fix and format what it can
	@$(BIN)/ruff check --fix --quiet .
	@$(BIN)/ruff format .

clean: ## remove everything built and the environments that make made
	[ ! -e $(VENV)/.made-by-make ] || rm -rf $(VENV)
	rm -rf $(SMOKE) build .pytest_cache .ruff_cache .hypothesis *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

dev: environment ## make .venv with everything that developing needs

environment:
	@sh tools/environment $(VENV) "$(PYTHON)"

# Both suites run whatever the first one says; the counts come last.
define check
	status=0; \
	$(BIN)/python -m pytest $(1) || status=1; \
	$(BIN)/python tests/run_lit.py || status=1; \
	exit $$status
endef
