"""Parsing by the library unstructured, in a virtual environment of its own, where the operator asks for it."""
