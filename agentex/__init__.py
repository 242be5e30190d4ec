"""Clients of an Agentex server for other frameworks; they need nothing of the server's own packages."""
