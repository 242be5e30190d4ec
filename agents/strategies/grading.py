"""Judging retrieved passages: which help, whether they suffice, what to look for next."""

from collections.abc import Sequence
from dataclasses import dataclass

from agents.evidence import read_passages
from agents.llm.extractive.model import ENOUGH_COVERAGE, quote_passages
from agents.llm.extractive.terms import surface_text
from core.json_access import as_list, as_object, as_text, parse


@dataclass(frozen=True, slots=True)
class Grade:
    """The verdict on the evidence so far.

    Attributes:
        relevant: Numbers of the passages worth answering from.
        next_query: What to search for next; empty when the evidence suffices.
    """

    relevant: tuple[int, ...]
    next_query: str = ""


def grade_by_terms(question: str, passages_text: str) -> Grade:
    """The grade without a language model: which terms of the question the passages cover."""
    passages = read_passages(passages_text) or []
    quotation = quote_passages(question, passages)
    missing = surface_text(quotation.missing)
    next_query = missing if quotation.coverage < ENOUGH_COVERAGE else ""
    return Grade(tuple(passage.number for passage in passages), next_query)


def read_grade(answer: str, numbers: Sequence[int]) -> Grade:
    """The grade in a model's answer; if it can't be read, every passage is kept as sufficient."""
    everything = Grade(tuple(numbers))
    try:
        verdict = as_object(parse(answer[answer.index("{") : answer.rindex("}") + 1]))
    except ValueError:
        return everything
    if not isinstance(verdict.get("relevant"), list):
        return everything
    named = as_list(verdict["relevant"])
    relevant = tuple(number for number in numbers if number in named)
    is_sufficient = verdict.get("sufficient") is not False
    return Grade(relevant, "" if is_sufficient else as_text(verdict.get("query")).strip())
