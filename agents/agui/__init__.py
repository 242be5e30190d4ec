"""AG-UI 1.0: the one place that knows the wire."""
