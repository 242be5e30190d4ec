"""Rerankers besides the lexical one, by name: each is a module and a registry entry."""

from collections.abc import Callable, Mapping

import httpx

from core.settings import Settings
from kb_service.retrieval.rerankers import http
from kb_service.retrieval.rerankers.protocol import Reranker

LEXICAL = "lexical"
"""The reranker that needs no model; always available, always first."""

_REGISTRY: Mapping[str, Callable[[Settings, httpx.AsyncClient], Reranker | None]] = {"api": http.open_reranker}

NAMES = (LEXICAL, *_REGISTRY)
"""Reranker names that a request may use."""


def open_rerankers(settings: Settings, client: httpx.AsyncClient) -> dict[str, Reranker]:
    """The rerankers that these settings configure; the caller closes the client."""
    made = {name: make(settings, client) for name, make in _REGISTRY.items()}
    return {name: reranker for name, reranker in made.items() if reranker is not None}
