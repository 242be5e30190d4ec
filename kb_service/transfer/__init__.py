"""Portable knowledge bases: what one consists of, its file, and reading it from either."""
