"""Calendars of people: events, run tools, and feeds for calendar programs."""
