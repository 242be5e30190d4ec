"""Quality gate of a finished re-index: whether its recall allows an automatic cut-over."""

from typing import Any

from core.db.unit_of_work import UnitOfWork
from kb_service.failures import Outage
from kb_service.models import KnowledgeBase

MAX_RECALL_LOSS = 0.02
"""Loss of recall at 5 up to which new settings are put in force without asking a person."""


def is_measured(knowledge_base: KnowledgeBase) -> bool:
    """Whether the saved questions were asked of the current re-index, or need not be."""
    target = knowledge_base.target or {}
    return "recall" in target


def is_held(knowledge_base: KnowledgeBase) -> bool:
    """Whether the new settings find so much less that a person must decide."""
    recall = (knowledge_base.target or {}).get("recall")
    if recall is None:
        return False
    loss = recall["present"]["recall_5"] - recall["target"]["recall_5"]
    return loss > MAX_RECALL_LOSS


def record_recall(
    work: UnitOfWork,
    knowledge_base: KnowledgeBase,
    number: int,
    recall: dict[str, Any] | None,
    *,
    missing: Outage | None = None,
) -> None:
    """Store the recall of both generations, unless the re-index has changed.

    Args:
        recall: None: the generations can't be compared.
        missing: then what is wrong with the old settings' embedding model.
    """
    target = knowledge_base.target
    if target is not None and target["generation"] == number:
        words = None if missing is None else _not_compared(missing).words
        knowledge_base.target = {**target, "recall": recall, "recall_missing": words}
        work.session.add(knowledge_base)


def record_wait(work: UnitOfWork, knowledge_base: KnowledgeBase, number: int, outage: Outage) -> None:
    """Store what the measurement of generation ``number`` waits for, unless the re-index has changed."""
    target = knowledge_base.target
    if target is not None and target["generation"] == number:
        knowledge_base.target = {**target, "waiting": outage.words}
        work.session.add(knowledge_base)


def wait_reason(knowledge_base: KnowledgeBase) -> dict[str, str] | None:
    """What the measurement waits for; None before the first attempt and after success."""
    target = knowledge_base.target or {}
    return None if is_measured(knowledge_base) else target.get("waiting")


def _not_compared(outage: Outage) -> Outage:
    return Outage(
        outage.reason,
        f"The saved questions were not compared. {outage.message}",
        f"未能对比已保存的问题。{outage.message_zh}",
        "Nothing: what can't be searched can't be lost",
        "无需操作：无法搜索的内容不会因此丢失",
    )


def recall_fields(options: dict[str, Any] | None) -> dict[str, Any]:
    """The recorded ``recall`` and ``recall_missing`` of a re-index."""
    return {key: (options or {}).get(key) for key in ("recall", "recall_missing")}
