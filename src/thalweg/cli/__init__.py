"""The command line: every command a file, what they draw with beside them."""
