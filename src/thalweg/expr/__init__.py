"""Typed expression trees: nodes, normal form, implication, and the one writer to DuckDB's SQL."""
