"""Where rows come from and results go to: one file each."""
