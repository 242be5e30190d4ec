"""The SQL database: engine, column types, unit of work and outbox."""
