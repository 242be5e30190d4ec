"""Asynchronous runs (docs/reference/run-input.md, docs/reference/run-events.md)."""
