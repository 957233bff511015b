"""What survives a batch: the session directory, its manifests and its state files."""
