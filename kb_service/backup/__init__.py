"""Backups: one consistent state of SQL, files and vectors in a folder of content-addressed blobs."""
