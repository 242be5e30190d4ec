"""Passwords, tokens, API keys and the encryption of stored secrets."""
