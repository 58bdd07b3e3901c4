# make demo   set up everything and start the app on the built-in model, http://127.0.0.1:7860
# make test   set up everything and run all tests
# make test-replicas   install Ray Serve as well and test two replicas (docs/replicas.md)
# PYTHON=python3.12 chooses the interpreter of a new .venv, TORCH=torch==2.14.1 the torch that is installed into it.

PYTHON ?= python3
TORCH ?= torch==2.13.0

BIN := .venv/bin
CORE := $(wildcard recap/drafter/*.[ch] recap/targets/cpu/*.[ch])

.PHONY: demo test test-replicas setup assets bench clean

demo: setup
	$(BIN)/python app.py

test: setup .venv/.tests-ready
	$(BIN)/python -m pytest

test-replicas: setup .venv/.tests-ready
	$(BIN)/python -m pip install --quiet -r requirements-ray.txt
	$(BIN)/python -m pytest tests/test_affinity.py tests/test_replicas.py

setup: .venv/.ready .venv/.assets

assets: .venv/.ready
	$(BIN)/python -m recap.targets.builtin.assets

# once: the app itself looks whether the files are still there, and asking here first takes seconds of every start
.venv/.assets: .venv/.ready
	$(BIN)/python -m recap.targets.builtin.assets
	touch $@

bench: setup
	$(BIN)/python -m recap bench core

.venv/.ready: requirements.txt pyproject.toml setup.py $(CORE)
	@echo "Setting up .venv: torch and the other packages take some minutes the first time"
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip "setuptools>=77"
	$(BIN)/python -c "import torch" 2>/dev/null || $(BIN)/python -m pip install "$(TORCH)"
	$(BIN)/python -m pip install --quiet -r requirements.txt
	PYTHONWARNINGS=ignore $(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

.venv/.tests-ready: .venv/.ready requirements-test.txt
	$(BIN)/python -m pip install --quiet -r requirements-test.txt
	touch $@

clean:
	rm -rf .venv build *.egg-info recap/drafter/*.so recap/targets/cpu/*.so
