"""A session that runs elsewhere, used as one that runs here."""

from thalweg.client.remote import RemoteQuery, RemoteSession, connect

__all__ = ["RemoteQuery", "RemoteSession", "connect"]
