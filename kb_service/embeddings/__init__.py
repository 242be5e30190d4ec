"""Encoders: what turns passages and queries into dense vectors."""
