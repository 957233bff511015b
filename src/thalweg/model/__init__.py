"""The query model: frozen values that say what is asked, never how it is computed."""
