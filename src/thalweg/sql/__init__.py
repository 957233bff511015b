"""Text to statements, and a SELECT to a query of the model."""
