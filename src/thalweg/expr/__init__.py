"""Typed expression trees: nodes, normal form, implication, the one writer to DuckDB's SQL, and words for people."""
