"""Structured answers of the model: JSON, validated, repaired once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import BaseModel, ValidationError

from agents.llm.base import ModelMessage
from agents.strategies.shared.prompts import REPAIR
from agents.strategies.shared.tool_loop import ToolLoopStrategy
from agents.tools.base import validation_summary

ShapeT = TypeVar("ShapeT", bound=BaseModel)


class InvalidStructuredOutput(ValueError):
    """The text holds no such object; the message says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class StructuredAnswer(Generic[ShapeT]):
    """A validated answer, and whether it took a second try."""

    value: ShapeT
    is_repaired: bool


def read_object(text: str, shape: type[ShapeT]) -> ShapeT:
    """The JSON object within a text; raises ``InvalidStructuredOutput``."""
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        raise InvalidStructuredOutput("there is no JSON object in it")
    try:
        return shape.model_validate_json(text[start : end + 1])
    except ValidationError as error:
        raise InvalidStructuredOutput(validation_summary(error)) from error


async def ask_structured(
    strategy: ToolLoopStrategy, messages: Sequence[ModelMessage], shape: type[ShapeT]
) -> StructuredAnswer[ShapeT] | None:
    """Ask the model for an object; its text is not shown, its reasoning is.

    None if the second answer was no better, or time was used up.
    """
    conversation = list(messages)
    for is_repair in (False, True):
        turn = await strategy.ask_model(conversation, voice="silent", tools=False)
        if turn is None:
            return None
        try:
            return StructuredAnswer(read_object(turn.text, shape), is_repair)
        except InvalidStructuredOutput as fault:
            reply = [ModelMessage("assistant", turn.text)] if turn.text else []
            conversation += [*reply, ModelMessage("user", REPAIR.format(fault=fault))]
    return None
