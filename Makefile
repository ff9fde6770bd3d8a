# `make run` and `make test` are all one needs: each sets up .venv by itself, and starts at once
# when that has been done. `make test PYTHON=python3.13` does it with that Python, which has an
# environment of its own.

PYTHON ?=
export PYTHON
VENV := $(shell PYTHON='$(PYTHON)' scripts/setup.sh folder)
BIN := $(VENV)/bin
CODE := $(wildcard src tests examples bench scripts/*.py docs/conf.py)
TYPING := $(wildcard tests/typing/*.py)
HEADING = @printf '\n== %s ==\n'

.DEFAULT_GOAL := help
.PHONY: help run test newest check docs pytest fuzz bench format clean setup-run setup-dev \
	check-lint check-format check-types check-typing check-layers check-docs

help:  ## show this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

run: setup-run  ## show what it can do: life, faces, and what was copied
	@$(BIN)/python examples/showcase.py --out out
	@echo && echo 'A page that shows the search for faces from the inside:'
	@$(BIN)/trilby run --memory discrete --report out/report.html \
		examples/viola_jones.py --out out >out/viola_jones.txt

test: setup-dev  ## run every check, then every test
	@$(MAKE) --no-print-directory --keep-going --jobs=2 --output-sync=target check
	@$(MAKE) --no-print-directory pytest

newest: setup-dev  ## run the tests once more, with the newest Python of this machine
	@python="$$(scripts/setup.sh newest)" && if [ -n "$$python" ]; then \
		$(MAKE) --no-print-directory setup-dev pytest PYTHON="$$python"; fi

check: check-lint check-format check-layers check-types check-typing check-docs

check-lint:
	$(HEADING) 'ruff: lint'
	@$(BIN)/ruff check --quiet . && echo clean

check-format:
	$(HEADING) 'ruff: format'
	@$(BIN)/ruff format --check --quiet . && echo clean

check-layers:
	$(HEADING) 'import-linter: layers'
	@$(BIN)/lint-imports --no-logo

check-types:
	$(HEADING) 'basedpyright: strict types'
	@$(BIN)/basedpyright --pythonpath $(BIN)/python $(CODE)

check-typing:
	$(HEADING) 'mypy: programs as users write them'
ifeq ($(TYPING),)
	@echo 'tests/typing has no files yet'
else
	@$(BIN)/mypy --strict --python-executable $(BIN)/python $(TYPING)
endif

check-docs:
	$(HEADING) 'sphinx: the site, warnings are errors'
	@$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going docs out/docs \
		&& echo 'clean: out/docs/index.html'

docs: setup-dev check-docs  ## build the site of the documentation, out/docs/index.html

pytest:
	$(HEADING) 'pytest'
	@$(BIN)/pytest --numprocesses=2 --quiet

fuzz: setup-dev  ## run 2,000 random kernels and 2,000 random programs, each time others
	$(HEADING) 'pytest: random kernels and programs'
	@$(BIN)/pytest --numprocesses=2 --maxschedchunk=1 --capture=no --timeout=0 \
		--hypothesis-profile=fuzz -k agree \
		tests/property/test_kernels.py tests/property/test_programs.py \
		tests/property/test_restarts.py

bench: setup-dev  ## measure
	@set -e; for file in bench/*.py; do printf '\n== %s ==\n' "$$file"; $(BIN)/python "$$file"; done

format: setup-dev  ## tidy the code: safe fixes, then layout
	@$(BIN)/ruff check --fix --quiet . || true
	@$(BIN)/ruff format .

clean:  ## remove everything that was made, .venv included
	rm -rf .venv .venv-* .setup.lock out build dist src/*.egg-info \
		.pytest_cache .hypothesis .ruff_cache .mypy_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

setup-run setup-dev: setup-%:
	@scripts/setup.sh $*
