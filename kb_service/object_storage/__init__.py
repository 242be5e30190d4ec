"""Storage of uploaded bytes: the data folder, or an S3-compatible store."""
