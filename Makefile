# `make demo` and `make test` work on a fresh machine with Python 3.11+: each makes .venv first.
# `make help` lists the rest.

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test faults lint page kernels bench lock clean distclean

VENV := .venv/bin
SETUP := scripts/environment.sh pyproject.toml \
	requirements/build.txt requirements/kernels.txt requirements/java.txt
WEB := $(shell find web -name node_modules -prune -o -type f -print 2>/dev/null)

help: ## list the commands
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' Makefile

# While the kernels still compile, the page is built and the lake is written.
demo: .venv/demo.done ## make a real lake, index it, and show what you get
	@$(MAKE) --no-print-directory .venv/page.done & page=$$!; \
	$(VENV)/python -m lakejoin.cli.demo_lake demo-lake && wait $$page
	@$(MAKE) --no-print-directory kernels
	@$(VENV)/lakejoin demo

test: lint .venv/page.done kernels ## check style and types, and run every test
	@scripts/page.sh npm test --silent
	@scripts/browser.sh
	@$(VENV)/pytest -n 2 --dist loadfile

lint: .venv/test.done ## check style and types
	@$(VENV)/ruff check .
	@$(VENV)/ruff format --check .
	@$(VENV)/mypy
	@scripts/page.sh npm run --silent check

page: .venv/page.done ## build the web page, from web/

# Without a C compiler there is no library: a sentence says so, and numba compiles at the first call.
kernels: .venv/demo.done ## compile the kernels that have changed, with all cores
	@$(VENV)/python -m lakejoin.kernels.library_build || true

faults: .venv/test.done kernels ## kill, damage and forge for an hour or more, and count what goes wrong
	@$(VENV)/python tests/faults/battery.py

bench: .venv/test.done kernels ## measure speed and size against a peer
	@$(VENV)/python benchmarks/index.py

lock: ## pin the dependencies again, from pyproject.toml (needs uv)
	@scripts/lock.sh

clean: ## remove caches, the built page, the demo lake and its index
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist demo-lake .lakejoin
	rm -rf web/node_modules src/lakejoin/server/page .venv/page.done
	rm -f src/lakejoin/kernels/*.so
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean ## remove .venv too
	rm -rf .venv

.venv/demo.done: requirements/demo.txt $(SETUP)
	@scripts/environment.sh demo
	@touch $@

# What the tests need holds what the demo needs.
.venv/test.done: requirements/test.txt $(SETUP)
	@scripts/environment.sh test
	@touch $@ .venv/demo.done

# Any of the two environments will do.
.venv/page.done: $(WEB) scripts/page.sh hatch_build.py requirements/node.txt | .venv/demo.done
	@scripts/page.sh
	@touch $@
