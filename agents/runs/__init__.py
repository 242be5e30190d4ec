"""Runs, driven apart from HTTP requests: start, log, follow, stop."""
