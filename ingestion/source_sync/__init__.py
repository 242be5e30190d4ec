"""Syncs of knowledge sources."""
