"""What a model is given of a long exchange of calls and results."""

from collections.abc import Sequence
from dataclasses import replace

from agents.llm.base import ModelMessage
from agents.skills.run_skills import COMPLETE, LOAD
from agents.strategies.prompts import delimited

LEFT_OUT = "Left out: this result is too far back. Make another call if it is needed again."


def fit_messages(limit: int, messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """The messages without the results furthest back, where all are more than a model can read."""
    fitted: list[ModelMessage] = []
    kept = {call.id for one in messages for call in one.tool_calls if call.name in (LOAD, COMPLETE)}
    for message in reversed(messages):
        # What a run works by is never left out: skills, and the step that a report gave.
        if _counts(message, kept):
            is_newest = not any(_counts(later, kept) for later in fitted)
            limit -= len(message.content)
            if limit < 0 and not is_newest:
                message = replace(message, content=LEFT_OUT)
        fitted.append(message)
    return fitted[::-1]


def _counts(message: ModelMessage, kept: set[str]) -> bool:
    return message.role == "tool" and message.tool_call_id not in kept


def results_as_user_messages(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """Calls and results for an endpoint that knows no tools: the results as the user's data."""
    told: list[ModelMessage] = []
    for message in messages:
        if message.role == "tool":
            told.append(ModelMessage("user", delimited("result", message.content)))
        elif not message.tool_calls:
            told.append(message)
    return told
