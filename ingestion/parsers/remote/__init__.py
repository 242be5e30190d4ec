"""Parsing services that the operator runs beside Agentex: Unstructured's API, docling-serve and mineru-api."""
