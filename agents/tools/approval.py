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
from agents.tools.live_call import CallQuestion
from core.json_access import as_object, as_text, parse

DECLINED = "Declined: the user does not want this call. Do not make it again unless asked to."
_SERVER_ASKS = ("The MCP server {server} asks: {message}", "MCP 服务器 {server} 询问：{message}")
_ASKED = ("Run {name} with these arguments?", "是否以这些参数运行 {name}？")


class InvalidAnswer(ValueError):
    """The answer is not of the shape that was asked for; the message says how."""


@dataclass(frozen=True, slots=True)
class ApprovalResult:
    """The effect of an answer: ``approved`` runs the call, ``done`` makes ``content`` its result.

    ``reply`` is the answer to a question that the call itself had asked, which then goes on.
    """

    status: Literal["approved", "done"]
    arguments: str = ""
    content: str = ""
    reply: JsonValue = None


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


def build_call_question(
    call: ToolCall, arguments: str, question: CallQuestion, *, until: str, is_chinese: bool
) -> Interrupt:
    """The interrupt for a question that came up inside of a call.

    Args:
        arguments: Those that the call was made with.
        until: Expiry, ISO 8601.
    """
    message = _SERVER_ASKS[is_chinese].format(server=question.server, message=question.message)
    facts: dict[str, JsonValue] = {"server": question.server, "message": question.message}
    metadata: dict[str, JsonValue] = {
        "tool": call.name,
        "arguments": parse(arguments or "{}"),
        "allowed": ["response", "reject"],
        "elicitation": {**facts, "mode": "url", "url": question.url} if question.url else {**facts, "mode": "form"},
    }
    return Interrupt(str(uuid4()), "input_required", message, call.id, question.schema, until, metadata)


def cancelled_answer(interrupt: Interrupt) -> ApprovalResult:
    """The effect of giving up on a question: a call that asked hears of it, others are not made."""
    if "elicitation" in interrupt.metadata:
        return _reply(interrupt, {"action": "cancel"})
    return ApprovalResult("done", content=DECLINED)


def _reply(interrupt: Interrupt, payload: JsonValue) -> ApprovalResult:
    arguments = json.dumps(interrupt.metadata["arguments"], ensure_ascii=False)
    return ApprovalResult("approved", arguments=arguments, reply=payload)


def read_answer(interrupt: Interrupt, payload: JsonValue) -> ApprovalResult:
    """Apply a person's answer to the call (reference shapes of AG-UI 1.0).

    ``payload`` is ``{approved, editedArgs?, response?}`` for a tool call, else by the question's own
    schema; raises ``InvalidAnswer`` otherwise.
    """
    if fault := schema_fault(interrupt.response_schema, payload):
        raise InvalidAnswer(fault)
    if facts := as_object(interrupt.metadata.get("elicitation")):
        answer = as_object(payload)
        if facts["mode"] == "form" and answer["action"] == "accept" and "content" not in answer:
            raise InvalidAnswer("content: an accepted form needs it")
        return _reply(interrupt, payload)
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
