"""Portable knowledge bases: the archive format, export and import."""
