"""How files are read: what is said of them to DuckDB, and what is refused of them."""
