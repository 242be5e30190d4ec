"""Turning uploaded files into chunks: parse, split, embed, index."""
