"""Connectors of services with JSON over HTTP, which share one client."""
