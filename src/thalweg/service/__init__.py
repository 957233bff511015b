"""One running session for many clients: REST, server-sent events, metrics, and the console."""
