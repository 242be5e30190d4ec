"""Retrieval evaluation: saved questions asked through the search, and metrics from the ranks."""
