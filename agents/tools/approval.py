"""Questions to a person before a call, and the effect of the answers."""

import json
from dataclasses import dataclass
from typing import Literal
from uuid import uuid4

from pydantic import JsonValue

from agents.events import Interrupt
from agents.llm.base import ToolCall
from agents.tools.base import Tool, UserPrompt
from agents.tools.json_schema import schema_fault
from core.json_access import as_object, as_text, parse

DECLINED = "Declined: the user does not want this call. Do not make it again unless asked to."
_ASKED = ("Run {name} with these arguments?", "是否以这些参数运行 {name}？")


class InvalidAnswer(ValueError):
    """The answer is not of the shape that was asked for; the message says how."""


@dataclass(frozen=True, slots=True)
class ApprovalResult:
    """The effect of an answer: ``approved`` runs the call, ``done`` makes ``content`` its result."""

    status: Literal["approved", "done"]
    arguments: str = ""
    content: str = ""


def build_interrupt(
    tool: Tool, call: ToolCall, *, until: str, is_chinese: bool, prompt: UserPrompt | None = None
) -> Interrupt:
    """The interrupt for a call (with valid arguments) that asks a person or needs approval.

    Args:
        until: Expiry, ISO 8601.
        prompt: A question that the tool's preview raised.
    """
    arguments = parse(call.arguments or "{}")
    metadata: dict[str, JsonValue] = {
        "tool": tool.name,
        "arguments": arguments,
        "allowed": ["accept", "edit", "reject", "response"],
    }
    if tool.question is not None:
        prompt = tool.question(call.arguments)
    if prompt is not None:
        metadata["allowed"] = ["response", "reject"]
        if prompt.fills:
            metadata["fills"] = prompt.fills
        return Interrupt(str(uuid4()), prompt.reason, prompt.message, call.id, prompt.schema, until, metadata)
    message = _ASKED[is_chinese].format(name=tool.name)
    schema: dict[str, JsonValue] = {
        "type": "object",
        "properties": {
            "approved": {"type": "boolean"},
            "editedArgs": tool.parameters,
            "response": {"type": "string", "maxLength": 10_000},
        },
        "required": ["approved"],
        "additionalProperties": False,
    }
    return Interrupt(str(uuid4()), "tool_call", message, call.id, schema, until, metadata)


def read_answer(interrupt: Interrupt, payload: JsonValue) -> ApprovalResult:
    """Apply a person's answer to the call (reference shapes of AG-UI 1.0).

    ``payload`` is ``{approved, editedArgs?, response?}`` for a tool call, else by the question's own
    schema; raises ``InvalidAnswer`` otherwise.
    """
    if fault := schema_fault(interrupt.response_schema, payload):
        raise InvalidAnswer(fault)
    if filled := as_text(interrupt.metadata.get("fills")):
        original = as_object(interrupt.metadata["arguments"])
        answers = {**as_object(original.get(filled)), **as_object(payload)}
        arguments = json.dumps({**original, filled: answers}, ensure_ascii=False)
        return ApprovalResult("approved", arguments=arguments)
    if interrupt.reason != "tool_call":
        return ApprovalResult("done", content=json.dumps(payload, ensure_ascii=False))
    answer = as_object(payload)
    if answer.get("approved") is True:
        arguments = answer.get("editedArgs", interrupt.metadata["arguments"])
        return ApprovalResult("approved", arguments=json.dumps(arguments, ensure_ascii=False))
    response = as_text(answer.get("response"))
    return ApprovalResult("done", content=f"The user answered instead: {response}" if response else DECLINED)
