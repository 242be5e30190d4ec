"""AG-UI 1.0: the only package that knows the wire format."""
