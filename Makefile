# Each target sets up what it needs in .venv by itself.
#   make run     evolve GPU-placement programs for at most 90 seconds, offline
#   make test    the tests
#   make docs    the parts of docs/ that come from the code, and the tables of programs/README.md
#   make tables  those tables measured anew (the offline runs are read, not made: docs/tables.py --search makes them)
#   make check   lint, types, tests: what CI runs
#   make clean   remove .venv and caches (runs/ stays)

.PHONY: run test check docs tables clean

run: .venv/installed
	@.venv/bin/evolve run --minutes 1.4

# One worker more than cores: many tests wait, for servers, limits and other processes.
test: .venv/installed-dev
	@.venv/bin/python -m pytest -n $$(($$(getconf _NPROCESSORS_ONLN) + 1)) --dist worksteal

check: .venv/installed-dev
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/mypy
	@$(MAKE) --no-print-directory test

docs: .venv/installed
	@.venv/bin/python docs/generate.py

tables: .venv/installed-dev
	@.venv/bin/python docs/tables.py

.venv/installed: pyproject.toml
	@PYTHON="$(PYTHON)" sh .ci/setup
	@touch $@

.venv/installed-dev: pyproject.toml
	@PYTHON="$(PYTHON)" sh .ci/setup dev bounds tasks
	@touch $@ .venv/installed

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis dist
