"""Where rows come from: each source gives Spark one row per chunk."""
