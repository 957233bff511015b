"""Benchmarks, run from the root of the repository.

    .venv/bin/python -m benchmarks.windows             windows against native Spark and DuckDB (make bench-windows)
    .venv/bin/python -m benchmarks.factor_windows      plans for many windows against each other (make bench-factor-windows)
    .venv/bin/python -m benchmarks.sharing             many queries, groups against each alone and native Spark (make bench-sharing)

`--quick` is the smoke version of each, `--help` lists the rest. Every figure printed comes from the run that prints it.
"""
