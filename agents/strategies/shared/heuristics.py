"""Decisions by the words of a question alone: its parts, and the agent type."""

import re
from collections.abc import Iterable

from agents.llm.extractive.model import is_command
from agents.llm.extractive.terms import content_terms

_ENGLISH_QUESTION = r"(?:how|what|when|where|which|who|whose|why|is|are|does|do|can)\b"
_CUT = re.compile(
    r"[;；\n]+|(?<=[?？])\s*"
    rf"|,?\s+and\s+(?:also\s+)?(?={_ENGLISH_QUESTION})"
    r"|,?\s+(?:and\s+)?then\s+|,\s+and\s+finally\s+"
    r"|[，,]?(?:然后|接着|以及|并且|并|同时|另外|还有)(?=\S{2})",
    re.IGNORECASE,
)
_COMPARED = (
    re.compile(r"^\s*(?:please\s+)?compare\s+(?P<a>.+?)\s+(?:and|with|to)\s+(?P<b>.+?)[.?!]*$", re.IGNORECASE),
    re.compile(
        r"^\s*(?:what(?:'s| is| are) the )?differences? between\s+(?P<a>.+?)\s+and\s+"
        r"(?P<b>.+?)[.?!]*$",
        re.IGNORECASE,
    ),
    re.compile(r"^\s*(?:请)?(?:比较|对比)(?:一下)?(?P<a>.+?)(?:和|与|跟)(?P<b>.+?)[。？！]*$"),
    re.compile(r"^\s*(?P<a>.+?)(?:和|与|跟)(?P<b>.+?)(?:有什么|有何|的)(?:区别|不同|差别|差异)"),
)
_PLANNED = re.compile(
    r"\b(?:step by step|plan|compare|differences? between|first\b.+\bthen)\b"
    r"|比较|对比|区别|分步|一步一步|逐步|计划|先.+(?:再|然后)",
    re.IGNORECASE,
)
_REFLECTED = re.compile(
    r"\b(?:review|double[- ]check|verify|critique|improve|careful(?:ly)?|thorough(?:ly)?|"
    r"make sure|prove)\b|仔细|反复|核实|验证|检查|确认|改进|润色|严谨|全面",
    re.IGNORECASE,
)
MOST_PARTS = 8


def split_question(question: str) -> list[str]:
    """The parts of a question in order, or the question itself if it has none."""
    if is_command(question):
        return [question.strip()]
    for pattern in _COMPARED:
        compared = pattern.match(question)
        if compared:
            return _asking([compared["a"], compared["b"]]) or [question.strip()]
    return _asking(_CUT.split(question))[:MOST_PARTS] or [question.strip()]


def _asking(pieces: Iterable[str]) -> list[str]:
    stripped = (piece.strip(" ,，。.") for piece in pieces)
    return list(dict.fromkeys(piece for piece in stripped if content_terms(piece)))


def route_question(question: str, *, can_search: bool) -> str:
    """The agent type for a question, by its words alone."""
    if is_command(question):
        return "react"
    if _REFLECTED.search(question):
        return "reflexion"
    if _PLANNED.search(question) or len(split_question(question)) > 1:
        return "plan_execute"
    return "agentic_rag" if can_search else "react"
