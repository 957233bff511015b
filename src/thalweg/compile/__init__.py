"""From a plan to the SQL steps that run, the same for the engine and for EXPLAIN."""
