"""Python functions that queries call: how they are told apart, kept and found again. What runs them is in `engine/kernel/functions.py`."""
