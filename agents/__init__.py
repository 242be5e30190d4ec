"""Agents: strategies, tools, models, runs and their events."""
