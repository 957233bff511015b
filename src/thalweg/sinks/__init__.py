"""Where results go: staged by tasks, shown by the driver once their batch is committed."""
