# Every target installs what it needs into .venv, once. You need python3 (3.11 or newer), cargo and make. The tests also
# need Chromium, procmail, socat and Java, which are installed with apt where apt is available.
#
#   make test ARGS="-k bayes -x"    pass arguments to pytest (also: check, fuzz, soak)
#   make test WORKERS=0             run the tests in one process (default: a process per core, at most 8)
#   make bench JOB=name             run one benchmark
#   make sweep ONLY=LinearSVC       run the cells of a name, a family or a glob (THREADS=2: the main cells)
#   make fuzz RUNS=100000           set the number of inputs per target
#   make mutate COUNT=60            set the number of mutants per module
#   make PYTHON=python3.13 test     use another interpreter (run `make clean` first)

PYTHON ?= python3
ARGS ?=
JOB ?=
ONLY ?=
THREADS ?= 1
RUNS ?= 10000000
COUNT ?= 60
WORKERS ?= $(shell cores=$$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN); echo $$((cores < 8 ? cores : 8)))
ADVISORIES ?= $(HOME)/.cargo/advisory-db

VENV := $(CURDIR)/.venv
BIN := $(VENV)/bin
MADE := .venv/.made
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check --no-input
PYTEST := $(BIN)/python -m pytest
PYTEST_PARALLEL := $(PYTEST) --numprocesses $(WORKERS) --dist worksteal
RUST_INPUTS := Cargo.toml $(wildcard Cargo.lock build.rs rust-toolchain.toml .cargo/config.toml) \
	$(shell find rust -type f -name '*.rs' 2>/dev/null)

# Keep other activated environments out: pip, maturin and PyO3 see only .venv. Bytecode is written, because the tests
# start Python hundreds of times.
unexport CONDA_PREFIX PYTHONHOME PYTHONPATH PIP_TARGET PIP_PREFIX PIP_USER MATURIN_PEP517_ARGS PYTHONDONTWRITEBYTECODE
export VIRTUAL_ENV := $(VENV)
export PYO3_PYTHON := $(BIN)/python
export PYTHONNOUSERSITE := 1

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help demo check test lint format bench sweep peers accuracy instructions fuzz mutate audit sbom soak docs clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

demo: $(MADE)/native ## train, explain and classify on built-in data
	@echo "==> discern demo"
	@$(BIN)/discern demo

check: $(MADE)/native $(MADE)/test $(MADE)/lint ## check quickly: lint Python and test the packages that differ from main
	$(lint_python)
	@tests=$$($(BIN)/python .ci/changed.py); echo "==> pytest $$tests"; test -z "$$tests" || $(PYTEST_PARALLEL) $$tests $(ARGS)

test: $(MADE)/native $(MADE)/test $(MADE)/chromium $(MADE)/mail $(MADE)/java ## run the Rust tests and the Python tests
	@echo "==> cargo test (the core alone, without Python)"
	@cargo test --locked --quiet --no-default-features
	@echo "==> pytest"
	@$(PYTEST_PARALLEL) $(ARGS)

define lint_python
	@echo "==> ruff format --check"
	@$(BIN)/ruff format --quiet --check . || { $(BIN)/ruff format --diff . ; exit 1; }
	@echo "==> ruff check"
	@$(BIN)/ruff check --quiet .
	@echo "==> mypy --strict"
	@$(BIN)/mypy
	@echo "==> sizes of files and functions, and words"
	@$(BIN)/python .ci/house.py
	@echo "==> lint-imports"
	@PYTHONPATH=python $(BIN)/lint-imports >$(MADE)/imports.log 2>&1 || { cat $(MADE)/imports.log; exit 1; }
	@! grep -rnE --include='*.py' '^ *(from discern import|import discern *$$)' python/discern || \
		{ echo "import from the module that defines the name, not from the package"; exit 1; }
endef

lint: $(MADE)/native $(MADE)/lint ## check formatting, types, import directions, Rust lints, licenses
	$(lint_python)
	@echo "==> cargo fmt --check"
	@cargo fmt --check
	@echo "==> cargo clippy"
	@cargo clippy --locked --quiet --all-targets -- -D warnings
	@echo "==> cargo check of the fuzz targets"
	@cargo check --locked --quiet --manifest-path fuzz/Cargo.toml
	@echo "==> licenses and sources of all dependencies"
	@$(BIN)/python docs/licenses.py --check
	@if command -v cargo-deny >/dev/null; then cargo deny --offline check licenses bans sources; \
		else echo "NOT RUN: cargo-deny is not installed; docs/licenses.py has checked licenses and sources"; fi
	@if command -v cargo-audit >/dev/null && test -d "$(ADVISORIES)"; then \
		cargo audit --quiet --no-fetch --db "$(ADVISORIES)" --deny warnings; \
		else echo "NOT RUN: cargo-audit needs its list in $(ADVISORIES); make audit gets it, and runs pip-audit"; fi

format: $(MADE)/lint ## rewrite the sources in the agreed format
	@echo "==> ruff check --fix, ruff format, cargo fmt"
	@$(BIN)/ruff check --quiet --fix-only .
	@$(BIN)/ruff format --quiet .
	@cargo fmt

bench: $(MADE)/native $(MADE)/bench peers ## measure speed, memory and accuracy (JOB=name for one)
	@echo "==> benchmarks$(if $(JOB), --job $(JOB))"
	@$(BIN)/python -m benchmarks $(if $(JOB),--job $(JOB))

sweep: $(MADE)/native $(MADE)/bench ## measure every estimator on many shapes against its peer (ONLY=name, THREADS=2)
	@echo "==> benchmarks.sweep"
	@$(BIN)/python -m benchmarks.sweep --threads $(THREADS) $(if $(ONLY),--only '$(ONLY)')

accuracy: $(MADE)/native $(MADE)/bench ## train every method and peer on every data set (ONLY=tables for the tables)
	@echo "==> benchmarks --accuracy"
	@$(BIN)/python -W ignore -m benchmarks --accuracy $(if $(ONLY),--only "$(ONLY)")

instructions: $(MADE)/native $(MADE)/valgrind ## count the instructions of the inner loops and compare them with the recorded counts
	@echo "==> benchmarks.harness.instructions"
	@$(BIN)/python -m benchmarks.harness.instructions

fuzz: $(MADE)/native $(MADE)/test $(MADE)/fuzz ## search for inputs that break the library, for hours
	@echo "==> pytest -m fuzz"
	@HYPOTHESIS_PROFILE=fuzz $(PYTEST) tests -m fuzz --timeout=0 -s $(ARGS)
	@command -v cargo-fuzz >/dev/null || { echo "for the Rust targets: cargo install --locked cargo-fuzz"; exit 1; }
	@# The fuzzer learns nothing from comparisons of keyed hashes: tokens and counts run 50% faster without tracing them.
	@for target in "layout" "csv" "rows" "--no-trace-compares tokens" "--no-trace-compares counts"; do \
		echo "==> cargo fuzz run $$target, $(RUNS) inputs"; \
		( cd fuzz && RUSTC_BOOTSTRAP=1 cargo fuzz run --sanitizer none $$target -- \
			-runs=$(RUNS) -max_len=64 -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 ) || exit 1; done
	@for target in terms files; do \
		echo "==> atheris $$target, $(RUNS) inputs"; \
		$(BIN)/python fuzz/through_python.py $$target -atheris_runs=$(RUNS) -max_len=64 || exit 1; done

mutate: $(MADE)/native $(MADE)/test ## mutation testing: count the random changes of the code that the tests detect
	@echo "==> tests/mutation/python.py"
	@$(BIN)/python tests/mutation/python.py --count $(COUNT)
	@command -v cargo-mutants >/dev/null || { echo "for the Rust core: cargo install --locked cargo-mutants"; exit 1; }
	@echo "==> tests/mutation/rust.py"
	@$(BIN)/python tests/mutation/rust.py --count $(COUNT)

audit: $(MADE)/native $(MADE)/audit ## look up known vulnerabilities of dependencies (needs a network)
	@echo "==> pip-audit"
	@$(BIN)/python docs/audit.py
	@echo "==> cargo audit"
	@command -v cargo-audit >/dev/null || { echo "for the crates: cargo install --locked cargo-audit"; exit 1; }
	@cargo audit --db "$(ADVISORIES)" --deny warnings || { echo "a vulnerability was found, or github.com cannot be reached"; exit 1; }

sbom: $(MADE)/native $(MADE)/audit ## write the list of components: sbom.json (CycloneDX) and docs/licenses.md
	@echo "==> cyclonedx-py, docs/licenses.py"
	@$(BIN)/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible -o sbom.json $(VENV)
	@$(BIN)/python docs/licenses.py

soak: $(MADE)/native $(MADE)/test ## run for an hour and watch memory and drift
	@echo "==> pytest -m soak"
	@$(PYTEST) tests -m soak --timeout=0 $(ARGS)

docs: $(MADE)/native $(MADE)/docs ## build the site into build/docs, running every page of the course
	@echo "==> docs/build.py"
	@$(BIN)/python docs/build.py
	@$(BIN)/python docs/charts.py
	@echo "==> sphinx-build"
	@MPLBACKEND=Agg $(BIN)/python -m sphinx -W --keep-going --quiet -b html docs build/docs
	@echo "open build/docs/index.html"

clean: ## remove .venv, target, caches and built files
	@echo "==> removing .venv, target, caches and built files"
	@rm -rf .venv target build dist docs/api docs/course .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	@rm -f python/discern/_native.*so python/discern/_native.*pyd
	@find . -type d -name __pycache__ -not -path './.git/*' -prune -exec rm -rf {} +

# Stamps. Make redoes each when a file it depends on is newer.

$(MADE)/venv:
	@echo "==> .venv: creating, with pip"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; $(PYTHON) is not. Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@rm -rf .venv
	@$(PYTHON) -m venv .venv
	@$(PIP) install --upgrade 'pip>=25.1'
	@mkdir -p $(MADE)
	@touch $@

# One stamp for each dependency group of pyproject.toml.
$(MADE)/build $(MADE)/test $(MADE)/lint $(MADE)/bench $(MADE)/fuzz $(MADE)/audit $(MADE)/docs: $(MADE)/%: pyproject.toml $(MADE)/venv
	@echo "==> .venv: installing the $* tools"
	@$(PIP) install --group $*
	@touch $@

# $(call install,NAME,PACKAGES): install Debian packages. Another process may hold a lock of the package manager, or an
# earlier run may have been interrupted: finish that run, and try again for ten minutes as long as a lock is the reason.
define install
{ echo "==> installing $(1)"; log=$(MADE)/install.log; tries=0; \
		until { LC_ALL=C apt-get update -qq && LC_ALL=C DEBIAN_FRONTEND=noninteractive \
			apt-get -o DPkg::Lock::Timeout=600 install -y -qq --no-install-recommends $(2); } >$$log 2>&1; do \
			tries=$$((tries + 1)); \
			if grep -q 'dpkg was interrupted' $$log; then dpkg --force-confold --configure -a >>$$log 2>&1; \
			else grep -q 'Could not get lock' $$log; fi && [ $$tries -lt 120 ] || { \
				tail -n 5 $$log; echo "$(1) is missing and could not be installed: install it, then run make again"; exit 1; }; \
			sleep 5; done; }
endef

# The tests open the pages in a browser.
$(MADE)/chromium: $(MADE)/venv
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || \
		$(call install,Chromium,chromium)
	@touch $@

# The tests run the mail recipes with the programs they are for.
$(MADE)/mail: $(MADE)/venv
	@{ command -v procmail && command -v socat; } >/dev/null || $(call install,procmail or socat,procmail socat)
	@touch $@

# valgrind counts the instructions of the inner loops.
$(MADE)/valgrind: $(MADE)/venv
	@command -v valgrind >/dev/null || $(call install,valgrind,valgrind)
	@touch $@

# Programs that the benchmarks compare with. The benchmarks report those that cannot be installed as left out.
peers: $(MADE)/venv
	@command -v bogofilter >/dev/null || ( $(call install,bogofilter,bogofilter) ) || true
	@$(MAKE) --silent $(MADE)/java || true

# Spark needs Java 17 or newer.
$(MADE)/java: $(MADE)/venv
	@"$${JAVA_HOME:+$$JAVA_HOME/bin/}java" -version 2>&1 | grep -qE 'version "(1[7-9]|[2-9][0-9])' || \
		$(call install,Java 17,openjdk-17-jre-headless)
	@touch $@

$(MADE)/native: pyproject.toml $(RUST_INPUTS) $(MADE)/build
	@command -v cargo >/dev/null || { echo "cargo was not found: install Rust, then run make again"; exit 1; }
	@echo "==> discern: installing what it needs, building the native module (some minutes the first time)"
	@$(PYTHON) .ci/progress.py $@.log $(BIN)/maturin develop --release --locked --extras plot,serve
	@touch $@
