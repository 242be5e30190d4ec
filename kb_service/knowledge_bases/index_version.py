"""Generations: numbered settings that a knowledge base's points and chunks are made with."""

from dataclasses import asdict, dataclass
from typing import Any

from kb_service.knowledge_bases.service import Splitting
from kb_service.models import KnowledgeBase


@dataclass(frozen=True)
class Generation:
    """One set of settings and its number; numbers rise and are never reused."""

    number: int
    embedding_model: str
    splitting: Splitting

    def to_json(self) -> dict[str, Any]:
        model = {"generation": self.number, "embedding_model": self.embedding_model}
        return model | asdict(self.splitting)

    def is_like(self, other: "Generation") -> bool:
        """Whether both make the same points from the same document."""
        mine, others = ((self.embedding_model, self.splitting), (other.embedding_model, other.splitting))
        return mine == others


def _read(stored: dict[str, Any]) -> Generation:
    splitting = Splitting(stored["splitter"], stored["chunk_size"], stored["chunk_overlap"])
    return Generation(stored["generation"], stored["embedding_model"], splitting)


def current(knowledge_base: KnowledgeBase) -> Generation:
    """The generation that searches see."""
    splitting = Splitting(knowledge_base.splitter, knowledge_base.chunk_size, knowledge_base.chunk_overlap)
    return Generation(knowledge_base.generation, knowledge_base.embedding_model, splitting)


def target(knowledge_base: KnowledgeBase) -> Generation | None:
    """The generation that a re-index is building; None without a re-index."""
    return _read(knowledge_base.target) if knowledge_base.target else None


def previous(knowledge_base: KnowledgeBase) -> Generation | None:
    """The generation before the last cut-over, while it is kept."""
    return _read(knowledge_base.previous) if knowledge_base.previous else None


def generation_to_build(knowledge_base: KnowledgeBase, number: int) -> Generation:
    """The generation that a document with this number is built for.

    The target's if the number matches, else the current one: the document may have waited through a cut-over or a
    cancelled re-index.
    """
    aim = target(knowledge_base)
    return aim if aim is not None and aim.number == number else current(knowledge_base)
