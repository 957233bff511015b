"""`thalweg shell`: a prompt for statements, over a session of its own or of a service."""
