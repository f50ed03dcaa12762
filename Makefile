# SPDX-License-Identifier: Apache-2.0
# Every target sets up what it needs from a bare checkout; a second run skips what is done.

PYTHON ?= python3
VENV := .venv
BROWNIE_VENV := .venv-brownie
SYMBOLIC_VENV := .venv-symbolic
STAMPS := .stamps
INSTALL := $(PYTHON) scripts/install_packages.py
# Packages are not compiled ahead; what is imported must be kept compiled then, or every process would do it again.
unexport PYTHONDONTWRITEBYTECODE
# Processes that run the Python tests.
WORKERS ?= 2
# What `test-beside` runs.
BESIDE := test-contracts
WEB3_TESTS := $(patsubst %,tests/chain/test_%.py,account_file delivery failover node round_trip rpc sender strict_nodes)
FUZZ_SECONDS ?= 30
BYZANTINE_SECONDS ?= 300
PARTICIPANTS ?= --seconds 300
FUZZ_TARGETS ?= cid cid-text block weights node method sealed wrapped-key lent-keys signature proof certificate message \
	charter request settings account car gateway
export OMP_NUM_THREADS ?= 2
export OMP_WAIT_POLICY ?= PASSIVE

PY := $(VENV)/bin/python
# Brownie keeps compilers, networks and accounts under HOME: give it one of its own.
BROWNIE_ENV := HOME="$(CURDIR)/.home" SOLCX_BINARY_PATH="$(CURDIR)/.home/solcx" \
	PATH="$(CURDIR)/$(BROWNIE_VENV)/bin:$(CURDIR)/node_modules/.bin:$$PATH"

# Forge, which halmos calls, the solver, and a HOME that keeps what they cache out of the user's.
SYMBOLIC_ENV := HOME="$(CURDIR)/.home" PATH="$(CURDIR)/$(SYMBOLIC_VENV)/bin:$(CURDIR)/node_modules/.bin:$$PATH"

WEB := blockful_py/web blockful_py/explorer/web blockful_py/report/web
PAGES := blockful_py/explorer/static
REPORT := blockful_py/report/static

FORMATTED := contracts tests/contracts/forge tests/contracts/solidity tests/contracts/symbolic

.DEFAULT_GOAL := help
.PHONY: help setup contracts demo test test-all test-rest test-python test-slow test-browser test-processes test-beside test-web3-7 test-contracts \
	test-forge test-histories test-symbolic test-mutants test-byzantine test-participants test-ipfs fuzz check check-python \
	check-contracts docs fmt bench clean distclean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-15s %s\n", $$1, $$2}'

# Environments and packages side by side.
BESIDE_EACH_OTHER = $(MAKE) -s $(if $(findstring jobserver,$(MAKEFLAGS)),,-j3)

setup: ## Install everything: Python, npm packages, compiler, contracts
	@$(BESIDE_EACH_OTHER) $(STAMPS)/venv $(STAMPS)/contracts $(STAMPS)/pages

$(STAMPS)/python:
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(0 if (3, 11) <= v < (3, 14) else \
	 f"Python 3.11 to 3.13 is needed, {v[0]}.{v[1]} was found: run make with PYTHON=/path/to/python3.11")'
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/demo: requirements/demo.lock.txt requirements/torch.txt pyproject.toml | $(STAMPS)/python
	@echo "setup: Python environment ($(VENV))"
	@$(PYTHON) -m venv $(VENV)
	@$(INSTALL) $(VENV) requirements/demo.lock.txt requirements/torch.txt
	@$(VENV)/bin/pip install -qq --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

$(STAMPS)/venv: requirements/lock.txt lab/pyproject.toml $(STAMPS)/demo
	@echo "setup: all other Python packages ($(VENV))"
	@$(INSTALL) $(VENV) requirements/lock.txt
	@$(VENV)/bin/pip install -qq --disable-pip-version-check --no-deps --no-build-isolation --editable lab
	@touch $@

$(STAMPS)/brownie: requirements/brownie.lock.txt | $(STAMPS)/python
	@echo "setup: contract environment ($(BROWNIE_VENV))"
	@$(PYTHON) -m venv $(BROWNIE_VENV)
	@$(INSTALL) $(BROWNIE_VENV) requirements/brownie.lock.txt
	@touch $@

$(STAMPS)/symbolic: requirements/symbolic.lock.txt | $(STAMPS)/python
	@echo "setup: environment of the symbolic checks ($(SYMBOLIC_VENV))"
	@$(PYTHON) -m venv $(SYMBOLIC_VENV)
	@$(INSTALL) $(SYMBOLIC_VENV) requirements/symbolic.lock.txt
	@touch $@

$(STAMPS)/npm: package.json package-lock.json | $(STAMPS)/python
	@echo "setup: npm packages"
	@command -v node >/dev/null || { echo "Node 18 or later is needed, and no 'node' was found on PATH"; exit 1; }
	@node -e 'const v = +process.versions.node.split(".")[0]; if (v < 18) { console.error(`Node 18 or later is needed, $${process.version} was found`); process.exit(1); }'
	@npm ci --ignore-scripts --silent --no-audit --no-fund
	@touch $@

# The pages of the explorer, and the script and style of report.html, type-checked and bundled.
$(STAMPS)/pages: $(shell find $(WEB) -type f) scripts/bundle_pages.mjs $(STAMPS)/npm
	@echo "setup: the explorer's pages ($(PAGES)), the report's script and style ($(REPORT))"
	@npm run --silent pages
	@touch $@

contracts: $(STAMPS)/contracts ## Install the compiler and compile the contracts

$(STAMPS)/contracts: $(shell find contracts -name '*.sol') brownie-config.yaml $(wildcard scripts/toolchain/*) \
		$(STAMPS)/brownie $(STAMPS)/npm
	@echo "setup: compiler and contracts"
	@$(BROWNIE_ENV) $(BROWNIE_VENV)/bin/python scripts/toolchain/install_solc.py
	@$(BROWNIE_ENV) $(BROWNIE_VENV)/bin/brownie compile --all >/dev/null
	@$(BROWNIE_VENV)/bin/python scripts/toolchain/export_artifacts.py
	@touch $@

demo: ## Train, publish, forget, verify: the whole loop on two local chains
	@$(BESIDE_EACH_OTHER) $(STAMPS)/demo $(STAMPS)/pages
	@$(VENV)/bin/blockful demo

test: setup ## Run the tests: Python and contracts, without those that are slow
	@$(MAKE) --no-print-directory -j2 test-python test-beside

test-all: test ## Run all tests: those of `make test`, every crash step, takeovers, elections, browsers, web3 7, IPFS nodes
	@$(MAKE) --no-print-directory test-rest
	@$(MAKE) --no-print-directory test-slow
	@$(MAKE) --no-print-directory test-browser
	@$(MAKE) --no-print-directory -j2 test-processes test-beside BESIDE=test-histories

test-rest: setup
	@$(MAKE) --no-print-directory -j2 test-web3-7 test-beside BESIDE='test-byzantine test-participants'
	@$(MAKE) --no-print-directory test-ipfs

# Files in their order, so that neighbours share what their folder sets up; sorted by size, those of few and long
# tests would come last.
test-python: setup
	@$(VENV)/bin/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m 'not slow and not processes and not browser'

test-processes: setup ## Cut off, kill, starve and cheat federations of processes
	@$(VENV)/bin/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m processes

# Screenshots of every page are left in build/screenshots.
test-browser: setup ## Open the explorer's pages in Chromium, which has to be installed
	@$(PY) -m pytest -m browser tests/browser

test-slow: setup
	@$(VENV)/bin/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m slow

# Beside the Python tests, whose progress is what shows; what came out follows when it has ended.
test-beside: setup
	@mkdir -p build
	@$(MAKE) --no-print-directory $(BESIDE) >build/test-beside.log 2>&1; \
	 status=$$?; printf '\n'; cat build/test-beside.log; exit $$status

# What calls web3 and eth-account, and what is read and sent through them; the other tests of chains run once.
test-web3-7: setup
	@$(BROWNIE_VENV)/bin/python -m pytest -q -p no:pytest-brownie -p no:cacheprovider -c /dev/null --rootdir . \
	 -m 'not slow' -k 'not embedded' $(WEB3_TESTS)

test-byzantine: setup ## Play faulty members and leaders against honest ones, for BYZANTINE_SECONDS
	@$(PY) -m tests.fuzzing.byzantine --seconds $(BYZANTINE_SECONDS)

test-participants: setup ## Play dishonest participants against an honest committee; PARTICIPANTS has the options
	@$(PY) -m tests.fuzzing.participants $(PARTICIPANTS)

test-contracts: test-forge
	@$(BROWNIE_ENV) $(BROWNIE_VENV)/bin/brownie test tests/contracts

# FOUNDRY_PROFILE=thorough: more values, longer histories; it takes long.
test-forge: setup
	@test -x node_modules/.bin/forge || { echo "Forge is needed, and npm has none for this platform"; exit 1; }
	@node_modules/.bin/forge test

# Random histories beyond the 64 that `make test` plays; more by FOUNDRY_INVARIANT_RUNS and `make test-forge`.
test-histories: setup
	@if [ -x node_modules/.bin/forge ]; then FOUNDRY_INVARIANT_RUNS=128 node_modules/.bin/forge test --match-test invariant_; fi

test-symbolic: setup $(STAMPS)/symbolic ## Prove who may change what in the contracts, with halmos and z3
	@test -x node_modules/.bin/forge || { echo "Forge is needed, and npm has none for this platform"; exit 1; }
	@$(SYMBOLIC_ENV) forge build contracts
	@$(SYMBOLIC_ENV) FOUNDRY_PROFILE=symbolic halmos --config tests/contracts/symbolic/halmos.toml --no-status

# Takes conditions out of a copy of the contracts; each proof must fail without its own.
test-mutants: setup $(STAMPS)/symbolic
	@$(SYMBOLIC_ENV) $(SYMBOLIC_VENV)/bin/python -m tests.contracts.symbolic.mutants

test-ipfs: setup $(STAMPS)/ipfs ## Run the tests that need an IPFS node, a Kubo (`ipfs`) where one is on PATH
	@$(PY) -m pytest -n $(WORKERS) --dist loadfile tests/ipfs

# ESM finds packages beside the script, so what runs is copied to where they are installed.
$(STAMPS)/ipfs: $(wildcard tests/ipfs/node/*) | $(STAMPS)/npm
	@mkdir -p build/ipfs && cp tests/ipfs/node/* build/ipfs/
	@echo "setup: an IPFS node and importer for the tests (build/ipfs)"
	@npm ci --prefix build/ipfs --omit=optional --ignore-scripts --silent --no-audit --no-fund
	@touch $@

check: setup ## Run the linters: ruff, mypy, words, solhint, forge fmt, slither
	@$(MAKE) --no-print-directory -j2 check-python check-contracts

check-python: setup
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/mypy
	@$(VENV)/bin/python scripts/check_words.py

check-contracts: setup
	@node_modules/.bin/solhint --disc --quiet --max-warnings 0 'contracts/**/*.sol'
	@if [ -x node_modules/.bin/forge ]; then node_modules/.bin/forge fmt --check $(FORMATTED); fi
	@$(BROWNIE_ENV) $(BROWNIE_VENV)/bin/slither . --config-file slither.config.json

# NO_MKDOCS_2_WARNING: Material's advertisement of its successor.
docs: setup ## Build the documentation as a site, build/site/index.html
	@NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --config-file docs/site/mkdocs.yml

fmt: setup ## Format the Python code
	@$(VENV)/bin/ruff check --fix --exit-zero .
	@$(VENV)/bin/ruff format .

bench: setup ## Measure gas, crypto, verification, publications, redactions, path weights, storage, learning and unlearning
	@for script in gas election crypto verification services publication redaction path_weights store blocks propagation learning unlearning; do $(PY) -m benchmarks.$$script || exit 1; done

fuzz: setup $(STAMPS)/fuzz ## Fuzz everything that reads bytes from outside, FUZZ_SECONDS each (Linux)
	@mkdir -p build/fuzz && for target in $(FUZZ_TARGETS); do echo "fuzz: $$target"; \
	 $(PY) -m tests.fuzzing.run $$target -max_total_time=$(FUZZ_SECONDS) -rss_limit_mb=3072 -timeout=10 \
	 -verbosity=0 -print_final_stats=1 -artifact_prefix=build/fuzz/$$target- || exit 1; done

$(STAMPS)/fuzz: | $(STAMPS)/venv
	@$(VENV)/bin/pip install -qq --no-deps atheris==3.0.0
	@touch $@

clean: ## Remove what was built and the caches; keep environments and runs
	@rm -rf build $(PAGES) $(REPORT) .pytest_cache .mypy_cache .ruff_cache .hypothesis $(STAMPS)/contracts $(STAMPS)/ipfs \
	 $(STAMPS)/pages

distclean: clean ## Remove everything that is not in the repository, runs too
	@rm -rf $(VENV) $(BROWNIE_VENV) $(SYMBOLIC_VENV) node_modules .home $(STAMPS) runs .blockful deployments
