# Every target sets itself up: all it needs is make and Python 3.11 or later.
# `make check lowest` runs exactly what CI does (.ci/run), one after another.

VENV := .venv
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# Stamps: younger than what installing reads means installed. The dev install satisfies both.
KERNEL := $(wildcard src/tacit/solvers/kernel/*.[ch])
INSTALLED := pyproject.toml hatch_build.py $(KERNEL)
USER_STAMP := $(VENV)/.installed-all
DEV_STAMP := $(VENV)/.installed-dev
BROWSER_STAMP := $(VENV)/.installed-browser
JAVA_STAMP := $(VENV)/.installed-java
LOWEST := build/lowest
LOWEST_STAMP := $(LOWEST)/.installed

CODE := src tests benchmarks scripts hatch_build.py

MINUTES := 10

# Studies write durably. In memory, where 4 GB are free, tests do not wait for the disk.
IN_MEMORY := $(shell df --output=avail /dev/shm 2>/dev/null | awk 'NR > 1 && $$1 > 4e6 {print "/dev/shm"}')
# Many tests wait for processes that they started: on few cores, two workers for each.
WORKERS := $(shell getconf _NPROCESSORS_ONLN | awk '{print ($$1 < 4 ? 2 * $$1 : $$1)}')
PYTEST := -m pytest -n $(WORKERS) --dist worksteal

# Hundreds of processes import tacit during the tests: one of them compiles it, not each.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo page test test-all lowest checks check ready bench redteam docs wheel sizes trace concepts format format-check lint types imports \
	coverage clean

help:  ## Show the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(USER_STAMP)  ## A custodian's week on real data, every command once, in build/demo
	rm -rf build/demo
	$(BIN)/tacit demo --out build/demo

# The demo closes its study. Its backup of Friday is open: requests can be made on the pages.
# /help is built where the tools for it are installed.
page: $(USER_STAMP)  ## Serve the demo's study as it was before it was closed, and print where to log in
	test -f build/demo/friday.tar || $(MAKE) demo
	test -f src/tacit/site/index.html || test ! -f $(DEV_STAMP) || $(MAKE) docs
	rm -rf build/page && mkdir -p build/page
	$(BIN)/tacit restore build/demo/friday.tar build/page/clinic
	$(BIN)/tacit serve build/page/clinic

test test-all lowest: export PYTEST_DEBUG_TEMPROOT := $(IN_MEMORY)

test: $(DEV_STAMP) $(BROWSER_STAMP) $(JAVA_STAMP)  ## Run the tests, without the slow ones
	$(BIN)/python $(PYTEST) -m "not slow"

test-all: $(DEV_STAMP) $(BROWSER_STAMP) $(JAVA_STAMP)  ## Run all tests, the slow ones too
	$(BIN)/python $(PYTEST)

# The rooms that stand on packages. The others test mathematics and killed processes, and CI has 20
# minutes.
LOWEST_TESTS := tests/tables tests/measuring tests/ledger tests/estimation tests/information tests/test_linear_program.py tests/solvers/kernel \
	tests/solvers/convex tests/study/setup tests/study/reports \
	tests/service/test_access.py tests/service/test_own.py

lowest: $(LOWEST_STAMP)  ## Run the tests on the lowest versions that pyproject.toml allows
	$(LOWEST)/bin/python $(PYTEST) -m "not slow" \
		$(LOWEST_TESTS)

checks: format-check lint types imports docs  ## Every check that is no test; none waits for another: make -j2 checks

check: checks test-all  ## Everything that CI runs on the newest versions

# What takes one processor each; CI makes two at a time, see .ci/run.
ready: checks $(LOWEST_STAMP) $(BROWSER_STAMP) $(JAVA_STAMP)  ## Install all that the tests need, and check all but them

bench: $(DEV_STAMP) $(JAVA_STAMP)  ## Compare speed and precision with other solvers, then the long attacks
	$(BIN)/python -m benchmarks
	$(BIN)/python -m tests.redteam --minutes $(MINUTES)

redteam: $(DEV_STAMP)  ## Attack tacit for MINUTES (10): random studies, hostile requests, replays
	$(BIN)/python -m tests.redteam --minutes $(MINUTES)

docs: $(DEV_STAMP)  ## Build the documentation into src/tacit/site, offline
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

wheel: docs  ## Build sdist and wheel into dist, offline, and try the wheel without a compiler
	$(BIN)/python scripts/build_wheel.py dist

sizes: $(DEV_STAMP)  ## Print what tacit and its extras take on the disk
	$(BIN)/python scripts/installed_sizes.py

trace: $(DEV_STAMP)  ## Draw which files a release and a solution pass through, for CONTRIBUTING.md
	$(BIN)/python scripts/draw_trace.py

concepts: $(DEV_STAMP)  ## Draw the pictures of the pages on concepts
	$(BIN)/python scripts/draw_concepts.py

format: $(DEV_STAMP)  ## Rewrite the code in the house format
	$(BIN)/ruff format $(CODE)
	$(BIN)/clang-format -i $(KERNEL)
	$(BIN)/ruff check --fix $(CODE)

format-check: $(DEV_STAMP)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/clang-format --dry-run --Werror $(KERNEL)

lint: $(DEV_STAMP)
	$(BIN)/ruff check $(CODE)

types: $(DEV_STAMP)
	$(BIN)/mypy

imports: $(DEV_STAMP)
	$(BIN)/lint-imports

coverage: $(DEV_STAMP) $(BROWSER_STAMP) $(JAVA_STAMP)  ## Run the tests and list the lines and branches they miss
	$(BIN)/python -m pytest --cov --cov-report=term-missing

clean:  ## Remove everything that make built, the virtual environment included
	rm -rf $(VENV) build dist src/tacit/site .coverage .hypothesis .import_linter_cache \
		.mypy_cache .pytest_cache .ruff_cache
	rm -f src/tacit/solvers/kernel/tacit_kernel.*
	find $(CODE) -type d -name __pycache__ -prune -exec rm -rf {} +

$(USER_STAMP): $(INSTALLED) | $(BIN)/python
	@echo "Installing tacit and its packages into $(VENV): a few minutes, once"
	$(PIP_INSTALL) --editable '.[all]'
	@touch $@

$(DEV_STAMP): $(INSTALLED) | $(BIN)/python
	@echo "Installing tacit and the tools of developers into $(VENV): a few minutes, once"
	$(PIP_INSTALL) --editable '.[dev]'
	@touch $@ $(USER_STAMP)

# Only where they are missing. Where one cannot be installed, the tests that need it say so and fail.
$(BROWSER_STAMP): PROGRAM := chromium
$(BROWSER_STAMP): PACKAGE := chromium
$(JAVA_STAMP): PROGRAM := java
$(JAVA_STAMP): PACKAGE := openjdk-17-jre-headless
$(BROWSER_STAMP) $(JAVA_STAMP): | $(BIN)/python
	@if command -v $(PROGRAM) >/dev/null \
		|| (flock 9 && apt-get update -qq && apt-get install -y -qq --no-install-recommends $(PACKAGE)) \
			9>$(VENV)/.apt-lock >/dev/null; then \
		touch $@; \
	else \
		echo "$(PROGRAM) is missing and could not be installed: tests that need it will fail" >&2; \
	fi

$(LOWEST_STAMP): $(INSTALLED) scripts/lowest_versions.py | $(LOWEST)/bin/python
	$(LOWEST)/bin/python scripts/lowest_versions.py > $(LOWEST)/constraints.txt
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[test]' \
		--constraint $(LOWEST)/constraints.txt
	@touch $@

$(BIN)/python $(LOWEST)/bin/python:
	@for python in python3.11 python3; do \
		if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
			exec $$python -m venv $(@:/bin/python=); \
		fi; \
	done; \
	echo "tacit needs Python 3.11 or later as python3.11 or python3 on the PATH;" \
		"python3 here is: $$(python3 --version 2>&1 || echo absent)" >&2; \
	exit 1
