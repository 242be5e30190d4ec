"""AG-UI 1.0 in protobuf: ``events.proto`` and its encoder."""
