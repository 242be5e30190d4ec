"""Decisions on events, and the execution of what follows from them."""
