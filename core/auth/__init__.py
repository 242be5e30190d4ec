"""Users, roles, credentials, and access checks."""
