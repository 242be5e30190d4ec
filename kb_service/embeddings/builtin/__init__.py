"""Encoders whose weights come with packages of the registry, without network and without torch."""
