# Everything runs in .venv, which the targets make themselves. What must be there: Python 3.11 or newer, and make.

VENV    := .venv
BIN     := $(VENV)/bin
SMOKE   := .smoke
# The newest interpreter that works, or the one you name: make test PYTHON=python3.12
PYTHON  ?= $(shell sh tools/pythons | head -n 1)
PIP     := -m pip --disable-pip-version-check --quiet --quiet
# Continuous integration also tries every other Python on the machine.
TESTED  := $(if $(CI),smoke)

.DEFAULT_GOAL := help
.PHONY: help demo test test-long smoke lint format clean dev

help: ## show this list
	@echo "usage: make TARGET [PYTHON=python3.12]"
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

demo: $(VENV)/.ready ## train a physics-informed network; writes a plot and the compiler's IR to build/demo
	@$(BIN)/python examples/pinn_poisson.py --out build/demo

test: $(VENV)/.ready $(TESTED) ## run pytest and lit (with CI set: `make smoke` as well)
	@$(call check,)

test-long: $(VENV)/.ready ## the same with the slow tests and many more random examples
	@QUABLA_TESTS=long; export QUABLA_TESTS; $(call check,-m "slow or not slow")

smoke: $(VENV)/.ready ## install and try the package under every other Python >= 3.11 on this machine
	@$(BIN)/python tests/run_smoke.py $(SMOKE)

lint: $(VENV)/.ready ## ruff and pyright
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/pyright

format: $(VENV)/.ready ## let ruff fix and format what it can
	@$(BIN)/ruff check --fix --quiet .
	@$(BIN)/ruff format .

clean: ## remove the environments and everything built
	rm -rf $(VENV) $(SMOKE) build .pytest_cache .ruff_cache .hypothesis *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

dev: $(VENV)/.ready ## make .venv with everything that developing needs

# Both suites run whatever the first one says; the counts come last.
define check
	status=0; \
	$(BIN)/python -m pytest $(1) || status=1; \
	$(BIN)/python tests/run_lit.py || status=1; \
	exit $$status
endef

$(VENV)/.python:
	@python="$(PYTHON)"; \
	if [ -z "$$python" ]; then \
	    echo "no working Python 3.11 or newer with its venv module found; name one: make PYTHON=/path/to/python3" >&2; \
	    exit 1; \
	fi; \
	echo "making $(VENV) with $$("$$python" --version)"; \
	"$$python" -m venv --clear $(VENV)
	@touch $@

$(VENV)/.ready: $(VENV)/.python pyproject.toml
	@echo "installing quabla and its development tools into $(VENV) (a minute or two)"
	@$(BIN)/python $(PIP) install --editable '.[dev]'
	@$(BIN)/python -m compileall -q quabla
	@touch $@
