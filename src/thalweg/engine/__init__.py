"""Spark moves buckets; DuckDB works inside them."""
