"""Calls of a round: what was called with what, what came of it, and those of the strategy's own."""

import json
from dataclasses import dataclass

from agents.evidence import read_passages
from agents.llm.base import Message, ToolCall
from agents.skills.run_skills import ALWAYS_ALLOWED
from agents.tools import load_skill, search_knowledge_base
from agents.tools.base import ToolOutput
from core.json_access import parse


@dataclass(frozen=True, slots=True)
class Acted:
    """A round of calls.

    Attributes:
        messages: The turn and its results, for the next turn.
        ran: Calls that their tool answered.
        failed: Calls that gave nothing.
    """

    messages: tuple[Message, ...]
    ran: int
    failed: int


def search_call(query: str, new_id: str) -> ToolCall:
    """A call of the search, under an id made of a new one."""
    return _own_call(search_knowledge_base.NAME, {"query": query}, new_id)


def load_call(skill: str, new_id: str) -> ToolCall:
    """A call that loads a skill, under an id made of a new one."""
    return _own_call(load_skill.NAME, {"name": skill}, new_id)


def _own_call(name: str, arguments: dict[str, str], new_id: str) -> ToolCall:
    text = json.dumps(arguments, ensure_ascii=False)
    return ToolCall(f"call_{new_id.replace('-', '')}", name, text)


def is_good(output: ToolOutput) -> bool:
    """Whether a call gave something."""
    return output.ran and output.failure is None


def bears_out(call: ToolCall, output: ToolOutput) -> bool:
    """Whether a statement without a citation may rest on a result; not on what a skill says."""
    is_uncited = read_passages(output.content) is None
    return is_good(output) and is_uncited and call.name not in ALWAYS_ALLOWED


def signature_of(call: ToolCall) -> str:
    """What was called with what, however its JSON is spelled."""
    try:
        arguments = json.dumps(parse(call.arguments or "{}"), sort_keys=True)
    except ValueError:
        arguments = call.arguments
    return f"{call.name} {arguments}"
