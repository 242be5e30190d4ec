"""Users, roles, credentials, and the one gate that decides who may do what."""
