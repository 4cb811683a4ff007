# make demo   train on Kuhn poker, evaluate, write the report
# make test   lint, types and tests
#
# Both make .venv first. PYTHON chooses the interpreter (3.11 to 3.13), RUN the folder of the demo's run. PyTorch comes
# from TORCH_INDEX, whose builds need no GPU and a tenth of the space (what it depends on comes from the usual index);
# where it cannot be reached, from the usual index too.

PYTHON ?= python3
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
RUN ?= runs/demo-$(shell date +%Y%m%d-%H%M%S)
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test clean

demo: .venv/installed
	$(BIN)/mage train kuhn --run $(RUN)
	$(BIN)/mage eval $(RUN) --shuffle-remarks
	$(BIN)/mage eval $(RUN) --held-out
	$(BIN)/mage eval $(RUN)
	$(BIN)/mage report $(RUN)

test: .venv/installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14) and "MAGE needs Python 3.11 to 3.13: make PYTHON=python3.11")'
	$(PYTHON) -m venv .venv
	$(PIP) --retries 0 --timeout 15 --no-deps --index-url $(TORCH_INDEX) torch || $(PIP) --no-deps torch
	$(PIP) --editable .
	touch $@

.venv/installed-test: .venv/installed
	$(PIP) --editable '.[test]'
	touch $@

clean:
	rm -rf .venv
