"""Connections to addresses from users, and the rules for them."""
