"""Rules: when something happens, do something."""
