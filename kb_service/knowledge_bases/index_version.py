"""Generations of a knowledge base: the settings that its points and chunks are made with."""

from dataclasses import asdict, dataclass
from typing import Any

from kb_service.knowledge_bases.service import Splitting
from kb_service.models import KnowledgeBase


@dataclass(frozen=True)
class Generation:
    """One set of settings and its number; numbers rise and are never given twice."""

    number: int
    embedding_model: str
    splitting: Splitting

    def to_json(self) -> dict[str, Any]:
        """The form in which rows keep it."""
        model = {"generation": self.number, "embedding_model": self.embedding_model}
        return model | asdict(self.splitting)

    def is_like(self, other: "Generation") -> bool:
        """Whether both make the same points of the same document."""
        mine, others = ((self.embedding_model, self.splitting), (other.embedding_model, other.splitting))
        return mine == others


def _read(stored: dict[str, Any]) -> Generation:
    splitting = Splitting(stored["splitter"], stored["chunk_size"], stored["chunk_overlap"])
    return Generation(stored["generation"], stored["embedding_model"], splitting)


def current(knowledge_base: KnowledgeBase) -> Generation:
    """What searches see."""
    splitting = Splitting(knowledge_base.splitter, knowledge_base.chunk_size, knowledge_base.chunk_overlap)
    return Generation(knowledge_base.generation, knowledge_base.embedding_model, splitting)


def target(knowledge_base: KnowledgeBase) -> Generation | None:
    """What a re-index works towards; None while there is none."""
    return _read(knowledge_base.target) if knowledge_base.target else None


def previous(knowledge_base: KnowledgeBase) -> Generation | None:
    """What was before the last cut-over, while it is kept."""
    return _read(knowledge_base.previous) if knowledge_base.previous else None


def generation_to_build(knowledge_base: KnowledgeBase, number: int) -> Generation:
    """The generation that a document of this number is made for.

    That is the target's if the number is, else the present one: a document can have waited
    through a cut-over, or for a re-index that was given up.
    """
    aim = target(knowledge_base)
    return aim if aim is not None and aim.number == number else current(knowledge_base)
