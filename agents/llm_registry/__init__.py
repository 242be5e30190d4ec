"""Registry of language models: registration, access, clients and usage."""
