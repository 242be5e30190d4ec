"""Database migrations; ``agentex migrate`` and ``agentex serve`` apply them."""
