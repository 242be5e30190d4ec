"""The worker: documents and jobs from SQL and the queue."""
