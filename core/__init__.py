"""Settings, database, errors, security, accounts, Redis, jobs and logging."""
