"""Knowledge bases: documents, embeddings, the vector index and retrieval."""
