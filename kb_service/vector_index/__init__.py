"""The vector index: the one door to Qdrant."""
