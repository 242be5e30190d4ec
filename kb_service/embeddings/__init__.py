"""Encoders of passages and queries as dense vectors."""
