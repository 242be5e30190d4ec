"""Conditions: paths into an event, operators, and how they join."""
