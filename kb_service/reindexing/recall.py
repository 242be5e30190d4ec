"""What the saved questions say of a finished re-index, and whether it may come into force alone."""

from typing import Any

from core.database.unit_of_work import UnitOfWork
from kb_service.models import KnowledgeBase

MOST_LOSS = 0.02
"""Recall at 5 that new settings may lose and still come into force without a person's word."""


def is_measured(knowledge_base: KnowledgeBase) -> bool:
    """Whether the saved questions were asked of the present re-index, or need not be."""
    target = knowledge_base.target or {}
    return "recall" in target


def is_held(knowledge_base: KnowledgeBase) -> bool:
    """Whether the new settings find so much less that a person must decide."""
    recall = (knowledge_base.target or {}).get("recall")
    if recall is None:
        return False
    loss = recall["present"]["recall_5"] - recall["target"]["recall_5"]
    return loss > MOST_LOSS


def note_recall(
    work: UnitOfWork, knowledge_base: KnowledgeBase, number: int, recall: dict[str, Any]
) -> None:
    """Keep what was measured, if the re-index is still the one that was.

    Args:
        work: the transaction.
        knowledge_base: locked.
        number: the generation that was measured.
        recall: the figures of both generations.
    """
    target = knowledge_base.target
    if target is not None and target["generation"] == number:
        knowledge_base.target = {**target, "recall": recall}
        work.session.add(knowledge_base)
