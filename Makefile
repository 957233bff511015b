# Thalweg's habits. `make help` lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help

help:  ## what can be done here
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "make %-22s %s\n", $$1, $$2}'

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Thalweg needs Python 3.11 or later (make PYTHON=/path/to/python3.11 ...)"; exit 1; }
	@test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

setup: $(STAMP) java  ## install everything into .venv

java:
	@{ test -n "$$JAVA_HOME" && test -x "$$JAVA_HOME/bin/java"; } || command -v java >/dev/null || \
	  { echo "Spark needs Java 17: apt-get install openjdk-17-jre-headless (Debian, Ubuntu), brew install openjdk@17 (macOS), or set JAVA_HOME"; exit 2; }

demo: setup  ## an auction workload, a handful of windowed queries, their plan and their results
	$(BIN)/thalweg demo

console: setup  ## the same workload over events of now, as a service with a console: prints the link
	$(BIN)/thalweg demo --serve

test: unit browser  ## all tests: first those that take their time, alone; the console in a browser; then the long ones in two processes, all of Spark's in one
	$(BIN)/pytest tests/benchmarks tests/properties tests/streams tests/spark --numprocesses 2 --dist loadgroup --durations=12

lint: setup  ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

check: lint test  ## what CI runs: lint, types, tests

unit: setup  ## the tests that need no Spark, in a minute
	$(BIN)/pytest tests/unit tests/plans src --durations=5

browser: setup chromium  ## the console in a real browser
	$(BIN)/pytest tests/browser --durations=5

picture: setup chromium  ## make the README's picture of the console anew, in two minutes
	$(BIN)/python docs/picture.py

chromium:  ## install Debian's chromium where there is none and this user may; without one the tests in a browser are skipped, but not with CI=true
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || \
	  { test "$$(id -u)" = 0 && command -v apt-get >/dev/null && apt-get update -qq && \
	    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null; } || \
	  echo "no chromium: apt-get install chromium (Debian); the tests in a browser are skipped, or fail with CI=true"

soak: setup  ## hours: fifty kills, full disks with kills, crowds of threads, 200 schedules of changes, 2,000 flipped bits, 100,000 mutated statements, bad rows, fifty clients of a service, each compared with the definition
	THALWEG_KILLS=50 $(BIN)/pytest tests/spark/test_kill.py --timeout 7200
	THALWEG_DISK_KILLS=50 $(BIN)/pytest tests/spark/test_disk_kill.py --timeout 7200
	THALWEG_CROWD=5 $(BIN)/pytest tests/spark/test_crowd.py --timeout 7200
	THALWEG_FLIPS=1000 $(BIN)/pytest tests/properties/test_flipped_bits.py --timeout 7200
	THALWEG_CHECKPOINT_FLIPS=10 $(BIN)/pytest tests/spark/test_checkpoint_damage.py --timeout 7200
	THALWEG_EXAMPLES=5000 $(BIN)/pytest tests/properties/test_bad_rows.py --timeout 7200
	THALWEG_SCHEDULES=200 $(BIN)/pytest tests/properties/test_change_schedules.py --timeout 7200
	THALWEG_SCHEDULES=200 $(BIN)/pytest tests/properties/test_histories.py --timeout 7200
	THALWEG_STATEMENTS=100000 $(BIN)/pytest tests/unit/sql/test_sql_mutations.py --timeout 7200
	THALWEG_LOAD=300 $(BIN)/pytest tests/spark/test_load.py -s --timeout 7200

bench-push: setup  ## rows pushed over HTTP: how many a second are acknowledged and read (ARGS="--clients 4")
	$(BIN)/python -m benchmarks.push $(ARGS)

steady: setup  ## five minutes of joins on Spark: time of a batch and state over time (ARGS="--minutes 1")
	$(BIN)/python -m benchmarks.steady $(ARGS)

golden: setup  ## write the golden EXPLAIN files anew; read the diff
	REWRITE=1 $(BIN)/pytest tests/plans

format: setup  ## format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench-windows: setup  ## windows against native Spark and DuckDB
	$(BIN)/python -m benchmarks.windows $(ARGS)

bench-factor-windows: setup  ## many correlated windows: every plan against naive and native Spark (--quick for minutes)
	$(BIN)/python -m benchmarks.factor_windows $(ARGS)

bench-joins: setup  ## joins: every plan against the papers and native Spark (--quick --parts sweeps,incremental for minutes)
	$(BIN)/python -m benchmarks.joins $(ARGS)

bench-sharing: setup  ## many queries: groups by cost against every query alone and native Spark (--quick --parts joins for minutes)
	$(BIN)/python -m benchmarks.sharing $(ARGS)

bench-nexmark: setup  ## Nexmark's queries alone and together, against native Spark (--quick for minutes)
	$(BIN)/python -m benchmarks.nexmark $(ARGS)

bench-adhoc: setup  ## queries come and go while rows arrive: latencies, rows a second, what each component brings (--quick --ways 2 for minutes)
	$(BIN)/python -m benchmarks.adhoc_scenarios $(ARGS)

bench-changes: setup  ## thousands of queries created and dropped at a rate: what grows, how long until they are in force (--engine spark)
	$(BIN)/python -m benchmarks.adhoc $(ARGS)

bench-hot: setup  ## joins with a very frequent value: split over partitions and not
	$(BIN)/python -m benchmarks.hot $(ARGS)

bench-many: setup  ## hundreds of queries: binding, planning, plan files, equal queries
	$(BIN)/python -m benchmarks.many

bench-commits: setup  ## what manifests and flushing cost
	$(BIN)/python -m benchmarks.commits $(ARGS)

bench: bench-windows bench-factor-windows bench-joins  ## all three, for hours

.PHONY: help setup java demo console browser chromium picture test lint check unit soak steady golden format bench bench-windows bench-factor-windows bench-joins bench-sharing bench-nexmark bench-adhoc bench-changes bench-hot bench-many bench-commits bench-push
