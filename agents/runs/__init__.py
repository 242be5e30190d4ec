"""Runs: begun, driven apart from any HTTP request, logged, stopped, followed."""
