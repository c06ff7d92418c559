# sayu: what there is to run. Needs only Python 3.11 to 3.13, make and git; the first command sets up .venv.
#
#   make demo ARGS="--json"     ARGS is handed to the command behind the target
#   make demo PYTHON=python3.12 the Python to set up with (default: the first that fits)
#   make demo DEVICE=cpu        cpu or gpu (default: gpu where nvidia-smi finds one)

.PHONY: help demo ui test lint setup lock clean

bin = .venv/bin
# Tests are held to the same types as the rest; a room that does not exist (yet) is left out.
rooms = $(wildcard flows tasks checks planner demo benchmarks tests)

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' Makefile

demo: setup ## a whole day on the demo shop with the demo model
	@$(bin)/sayu demo $(ARGS)

ui: setup ## Prefect's UI with everything deployed, until Ctrl-C; it says where to click
	@$(bin)/sayu ui $(ARGS)

test: setup ## run the tests
	@$(bin)/python -m pytest $(ARGS)

lint: setup ## ruff, mypy --strict and sqlfluff
	@# All four are run, so that one look shows all there is to mend.
	@failed=0; \
	for tool in "ruff check ." "ruff format --check ." "mypy --strict $(rooms)" "sqlfluff lint sql"; do \
	    echo "lint: $$tool"; $(bin)/$$tool || failed=1; \
	done; exit $$failed

setup: ## make .venv as the lock says (the other targets do it themselves)
	@PYTHON="$(PYTHON)" DEVICE="$(DEVICE)" sh requirements/setup.sh

# Needs only uv; the next command brings .venv up to date.
lock: $(if $(wildcard $(bin)/uv),,setup) ## write requirements/cpu.txt and gpu.txt anew (ARGS=--upgrade takes newer releases)
	@sh requirements/lock.sh $(ARGS)

clean: ## remove .venv and tool caches; results in store/ stay
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis *.egg-info
	find . -name __pycache__ -prune -exec rm -rf {} +
