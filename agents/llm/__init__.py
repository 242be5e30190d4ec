"""Language model clients: one adapter per wire protocol, and the offline model."""
