"""Where the uploaded bytes are kept: the data folder, or an S3-compatible store."""
