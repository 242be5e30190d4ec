"""Connections to addresses that users name: which of them may be made, and how."""
