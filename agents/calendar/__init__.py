"""The calendar of a person: events, what runs did to them, and the feed that others subscribe to."""
