"""The worker: documents and jobs, taken from SQL and the queue."""
