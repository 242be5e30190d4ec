"""Text analysis shared by splitting and retrieval."""
