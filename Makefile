# Each target sets up what it needs in .venv by itself.
#   make run     evolve GPU-placement programs for at most 90 seconds, offline
#   make test    the tests: 5 minutes on 2 cores
#   make docs    the parts of docs/ that come from the code, and the tables of programs/README.md
#   make tables  those tables, measured again (the offline runs are only read: docs/tables.py --search makes them)
#   make check   lint, types, tests, then the slow tests: what CI runs
#   make nightly long properties, kill loops, soak, measurements: by hand, before something is called done
#   make clean   remove .venv and caches (runs/ stays)

# Two workers more than cores: many tests wait, for servers, limits and other processes.
PYTEST = .venv/bin/python -m pytest -n $$(($$(getconf _NPROCESSORS_ONLN) + 2)) --dist worksteal
# Compiled modules are kept, whatever the caller's environment says: hundreds of processes import the package.
test check nightly: export PYTHONDONTWRITEBYTECODE =

.PHONY: run test check nightly docs tables clean

run: .venv/installed
	@.venv/bin/evolve run --minutes 1.4

test: .venv/installed-dev
	@$(PYTEST) -m "not slow and not nightly"

check: .venv/installed-dev
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/mypy
	@$(MAKE) --no-print-directory test
	@$(PYTEST) -m "slow and not nightly"

# Every property carries the mark `hypothesis`. The last four print what they measured: read it.
nightly: .venv/installed-dev
	@$(PYTEST) -m "nightly or hypothesis" --hypothesis-profile nightly
	@.venv/bin/python tests/evaluator/soak.py
	@.venv/bin/python -m tests.benchmarks.kills
	@.venv/bin/python -m tests.benchmarks.speed
	@.venv/bin/python -m tests.benchmarks.pairs

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
