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
"""The tools that only look for passages: an answer after them rests on citations or on nothing."""
_MOST_POINTS = 12
_LONGEST_POINT = 400
# Marks of the answer's message that say it is not all that it should have been.
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
    """The answer of a run, as its log or its session has it.

    Attributes:
        citations: What its numbers stand for, as in the message's metadata.
        marks: The rest of the message's metadata, such as ``truncated``.
        tools: Names of the tools that gave something, once each.
        failure: Why the run broke off, in words for a person; None when it did not.
    """

    text: str
    citations: tuple[dict[str, JsonValue], ...] = ()
    marks: frozenset[str] = frozenset()
    tools: frozenset[str] = frozenset()
    failure: str | None = None

    @property
    def is_chinese(self) -> bool:
        """Whether it is written in Chinese; then what we say of it is, too."""
        return is_cjk_dominant(self.text or self.failure or "")


@dataclass(frozen=True, slots=True)
class AnswerSummary:
    """What is derived from an answer; the same answer gives the same report."""

    answer: FinalAnswer
    blocks: tuple[MarkdownBlock, ...]
    status: AnswerStatus
    result_type: ResultType
    key_points: tuple[str, ...]
    suggested_actions: tuple[str, ...]


def summarize(answer: FinalAnswer) -> AnswerSummary:
    """Derive status, kind, key points and next actions by rules; no model is asked."""
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
    """Whether a list behind this block says what to do next."""
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
    said = [block.text for block in blocks if block.kind == "paragraph"]
    return bool(said) and _CITED.sub("", said[-1]).rstrip(" *_\"'”’)）").endswith(("?", "？"))


def _points_and_actions(
    blocks: Sequence[MarkdownBlock], *, is_asking: bool
) -> tuple[list[str], list[str]]:
    points: list[str] = []
    actions: list[str] = []
    before: MarkdownBlock | None = None
    for block in blocks:
        if block.kind == "list":
            is_next = is_asking or leads_to_actions(before)
            (actions if is_next else points).extend(block.items)
        elif block.kind != "quote":
            before = block
    # The offline model lists nothing: what it quotes are its points.
    quoted = [block.text for block in blocks if block.kind == "quote"]
    return points or ([] if is_asking else quoted), actions


def _bounded(points: Sequence[str]) -> tuple[str, ...]:
    return tuple(cut(point, _LONGEST_POINT) for point in points[:_MOST_POINTS])


def cut(text: str, limit: int) -> str:
    """The text, or its beginning with a mark."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"
