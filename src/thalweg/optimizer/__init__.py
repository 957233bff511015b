"""From a workload and statistics to one shared plan: pure functions over frozen values, without Spark and without DuckDB."""
