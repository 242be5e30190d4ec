"""Measures retrieval: saved questions asked through the one search, and figures from the ranks."""
