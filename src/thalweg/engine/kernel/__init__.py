"""What runs inside a Spark task: SQL steps in DuckDB over Arrow tables."""
