"""Summaries of answers (docs/reference/run-events.md, section 3.4)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from agents.async_runs.markdown_blocks import MarkdownBlock, read_blocks
from agents.llm.extractive.model import CHINESE, ENGLISH
from agents.tools import read_document, search_knowledge_base
from kb_service.text.tokenizer import is_cjk_dominant

AnswerStatus = Literal["success", "partial_success", "failed"]
ResultType = Literal["execution_report", "clarification", "error_report", "unknown"]
READERS = frozenset({search_knowledge_base.NAME, read_document.NAME})
"""Tools that only find passages: an answer that used only them needs citations."""
_MOST_POINTS = 12
_LONGEST_POINT = 400
# Metadata of incomplete answers.
_CUT_MARKS = ("stopped", "truncated", "ended_by")
_CITED = re.compile(r"(?:\s*\[\d+\])+")
_ABSTAINED = tuple(
    words[: words.index("{")] if "{" in words else words
    for wording in (ENGLISH, CHINESE)
    for words in (wording.abstained, wording.no_knowledge_base)
)
_LEADS_TO_ACTIONS = re.compile(
    r"\b(next steps?|you (can|could|may|might) (also )?try|what (you can|to) (do|try)|try this|"
    r"suggest(ed|ions?)?|recommend(ed|ations?)?|to do)\b|建议|下一步|后续|可以尝试|待办",
    re.IGNORECASE,
)
_TRY_AGAIN = ("Send the question again.", "请重新发送问题。")


@dataclass(frozen=True, slots=True)
class FinalAnswer:
    """The answer of a run, from its log or its session.

    Attributes:
        citations: By number, as in the message's metadata.
        marks: Other message metadata, such as ``truncated``.
        failure: Why the run failed, for people; None if it did not.
    """

    text: str
    citations: tuple[dict[str, JsonValue], ...] = ()
    marks: frozenset[str] = frozenset()
    tools: frozenset[str] = frozenset()
    failure: str | None = None

    @property
    def is_chinese(self) -> bool:
        return is_cjk_dominant(self.text or self.failure or "")


@dataclass(frozen=True, slots=True)
class AnswerSummary:
    """Facts derived from an answer, deterministically."""

    answer: FinalAnswer
    blocks: tuple[MarkdownBlock, ...]
    status: AnswerStatus
    result_type: ResultType
    key_points: tuple[str, ...]
    suggested_actions: tuple[str, ...]


def summarize(answer: FinalAnswer) -> AnswerSummary:
    """Derive status, type, key points and next actions by rules, without a model."""
    blocks = tuple(read_blocks(answer.text))
    result_type = _result_type(answer, blocks)
    points, actions = _points_and_actions(blocks, is_asking=result_type == "clarification")
    if answer.failure is not None and not actions:
        actions = [_TRY_AGAIN[answer.is_chinese]]
    return AnswerSummary(
        answer=answer,
        blocks=blocks,
        status=_status(answer),
        result_type=result_type,
        key_points=_bounded(points),
        suggested_actions=_bounded(actions),
    )


def leads_to_actions(before: MarkdownBlock | None) -> bool:
    """Whether a list after this block holds next actions."""
    return before is not None and bool(_LEADS_TO_ACTIONS.search(before.text))


def _status(answer: FinalAnswer) -> AnswerStatus:
    if answer.failure is not None:
        return "failed"
    return "success" if answer.marks.isdisjoint(_CUT_MARKS) else "partial_success"


def _result_type(answer: FinalAnswer, blocks: Sequence[MarkdownBlock]) -> ResultType:
    if answer.failure is not None:
        return "error_report"
    if not blocks:
        return "unknown"
    has_looked_in_vain = bool(answer.tools) and answer.tools <= READERS and not answer.citations
    is_abstaining = has_looked_in_vain or answer.text.startswith(_ABSTAINED)
    return "clarification" if is_abstaining or _asks_back(blocks) else "execution_report"


def _asks_back(blocks: Sequence[MarkdownBlock]) -> bool:
    paragraphs = [block.text for block in blocks if block.kind == "paragraph"]
    return bool(paragraphs) and _CITED.sub("", paragraphs[-1]).rstrip(" *_\"'”’)）").endswith(("?", "？"))


def _points_and_actions(blocks: Sequence[MarkdownBlock], *, is_asking: bool) -> tuple[list[str], list[str]]:
    points: list[str] = []
    actions: list[str] = []
    before: MarkdownBlock | None = None
    for block in blocks:
        if block.kind == "list":
            is_next = is_asking or leads_to_actions(before)
            (actions if is_next else points).extend(block.items)
        elif block.kind != "quote":
            before = block
    # The extractive model writes no lists: its quotes are its points.
    quoted = [block.text for block in blocks if block.kind == "quote"]
    return points or ([] if is_asking else quoted), actions


def _bounded(points: Sequence[str]) -> tuple[str, ...]:
    return tuple(cut(point, _LONGEST_POINT) for point in points[:_MOST_POINTS])


def cut(text: str, limit: int) -> str:
    """The text, shortened with an ellipsis if too long."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"
