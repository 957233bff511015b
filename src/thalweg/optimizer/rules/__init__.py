"""The algorithms that choose a plan, one a file."""
