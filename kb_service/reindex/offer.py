"""Offer of a re-index to knowledge bases that keep the English built-in model."""

from kb_service.embeddings.catalog import DEFAULT, MINILM, MULTILINGUAL_E5, EmbeddingModel
from kb_service.models import KnowledgeBase


def offered_model(knowledge_base: KnowledgeBase) -> EmbeddingModel | None:
    """The model that a re-index is offered with: the multilingual one, if it is the default here; else None.

    Nothing is offered while a re-index is under way, because a second one would be refused.
    """
    is_offered = DEFAULT is MULTILINGUAL_E5 and knowledge_base.embedding_model == MINILM.name
    return DEFAULT if is_offered and knowledge_base.target is None else None
