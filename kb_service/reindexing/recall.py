"""What the saved questions say of a finished re-index, and whether it may come into force alone."""

from typing import Any

from core.database.unit_of_work import UnitOfWork
from core.errors import ErrorCode
from kb_service.models import KnowledgeBase

MOST_LOSS = 0.02
"""Recall at 5 that new settings may lose and still come into force without a person's word."""

_NO_USABLE_ANSWER = {
    "reason": "embeddings_unavailable",
    "message": "The saved questions were not compared: the endpoint of the embedding model "
    "before gave no usable answer",
    "next_action": "Nothing: what can't be searched can't be lost",
    "message_zh": "未能对比已保存的问题：原嵌入模型的服务没有给出可用的结果",
    "next_action_zh": "无需操作：无法搜索的内容不会因此丢失",
}
_MISSING = {
    ErrorCode.EMBEDDING_MODEL_NOT_SERVED: {
        "reason": "embedding_model_not_served",
        "message": "The saved questions were not compared: the embedding model before is not "
        "configured on the server any more",
        "next_action": "Nothing: what can't be searched can't be lost",
        "message_zh": "未能对比已保存的问题：服务器已不再配置原嵌入模型",
        "next_action_zh": "无需操作：无法搜索的内容不会因此丢失",
    },
}


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
    work: UnitOfWork,
    knowledge_base: KnowledgeBase,
    number: int,
    recall: dict[str, Any] | None,
    *,
    missing: ErrorCode | None = None,
) -> None:
    """Keep what was measured, or why nothing could be, if the re-index is still the one that was.

    Args:
        work: the transaction.
        knowledge_base: locked.
        number: the generation that was measured.
        recall: the figures of both generations; None: they can't be compared.
        missing: then what asking the settings before ended with.
    """
    target = knowledge_base.target
    if target is not None and target["generation"] == number:
        words = None if missing is None else _MISSING.get(missing, _NO_USABLE_ANSWER)
        knowledge_base.target = {**target, "recall": recall, "recall_missing": words}
        work.session.add(knowledge_base)


def measured(options: dict[str, Any] | None) -> dict[str, Any]:
    """What was noted of a re-index, by what a row keeps of it: ``recall`` and ``recall_missing``."""
    return {key: (options or {}).get(key) for key in ("recall", "recall_missing")}
