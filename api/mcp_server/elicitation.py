"""Questions of a run to a person at an MCP client, and the answers that come back with the repeated request."""

import base64
import json
from collections.abc import Mapping, Sequence

from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult
from pydantic import JsonValue, ValidationError

from api.mcp_server.tool import CallFailure, Dialog
from core.errors.conflicts import InterruptsOpen
from core.errors.requests import InvalidRequest
from core.json_access import as_list, as_object, as_text, parse

_LONGEST_ARGUMENTS = 2000
_MOST_INTERRUPTS = 100
_LONGEST_STATE = 20_000
_PRIMITIVES = frozenset({"string", "number", "integer", "boolean"})
_FIELD_KEYS = frozenset({"type", "title", "description", "enum", "minLength", "maxLength", "minimum", "maximum"})
_APPROVAL: dict[str, JsonValue] = {
    "type": "object",
    "properties": {"approved": {"type": "boolean", "title": "Approve"}},
    "required": ["approved"],
}


def ask_person(
    interrupts: Sequence[Mapping[str, JsonValue]], session_id: str, dialog: Dialog
) -> InputRequiredResult | None:
    """The questions as a client shows them; None if it can't, or has no form for one of them."""
    if not dialog.is_possible or not interrupts:
        return None
    requests: dict[str, ElicitRequest] = {}
    for interrupt in interrupts:
        schema = _form(interrupt)
        if schema is None:
            return None
        params = ElicitRequestFormParams(message=_question(interrupt), requested_schema=schema)
        requests[as_text(interrupt.get("id"))] = ElicitRequest(params=params)
    state = json.dumps([session_id, list(requests), [as_text(i.get("reason")) for i in interrupts]])
    return InputRequiredResult(
        input_requests=dict(requests), request_state=base64.urlsafe_b64encode(state.encode()).decode()
    )


def _question(interrupt: Mapping[str, JsonValue]) -> str:
    message = as_text(interrupt.get("message"))
    if interrupt.get("reason") != "tool_call":
        return message
    arguments = json.dumps(as_object(interrupt.get("metadata")).get("arguments"), ensure_ascii=False)
    return f"{message}\n{arguments[:_LONGEST_ARGUMENTS]}"


def _form(interrupt: Mapping[str, JsonValue]) -> dict[str, JsonValue] | None:
    """The schema of an answer as the protocol's forms have it: fields without anything inside."""
    if interrupt.get("reason") == "tool_call":
        return _APPROVAL
    schema = as_object(interrupt.get("responseSchema"))
    fields = {name: as_object(field) for name, field in as_object(schema.get("properties")).items()}
    if not fields or not all(_is_primitive(field) for field in fields.values()):
        return None
    properties: dict[str, JsonValue] = {
        name: {key: value for key, value in field.items() if key in _FIELD_KEYS} for name, field in fields.items()
    }
    return {"type": "object", "properties": properties, "required": as_list(schema.get("required"))}


def _is_primitive(field: Mapping[str, JsonValue]) -> bool:
    choices = field.get("enum")
    is_plain = choices is None or (isinstance(choices, list) and all(isinstance(choice, str) for choice in choices))
    return field.get("type") in _PRIMITIVES and is_plain


def read_responses(dialog: Dialog) -> tuple[str, list[JsonValue]] | None:
    """The session and the answers to its interrupts (AG-UI's ``resume``); None if the request is the first.

    What the client sends back is not trusted: whoever makes it up answers what their own sessions ask.

    Raises:
        CallFailure: ``InterruptsOpen``: the person gave no answer.
        InvalidRequest: It is not what the client was given.
    """
    if dialog.state is None:
        return None
    session_id, interrupts = _read_state(dialog.state)
    responses = dialog.responses or {}
    answers: list[JsonValue] = []
    for interrupt_id, reason in interrupts:
        response = _read_response(responses.get(interrupt_id))
        if response is None or response.action == "cancel":
            raise CallFailure(InterruptsOpen, {"session_id": session_id, "interrupts": [id_ for id_, _ in interrupts]})
        answers.append(_answer(interrupt_id, reason, response))
    return session_id, answers


def _read_state(state: str) -> tuple[str, list[tuple[str, str]]]:
    try:
        # More than enough for what was written; a longer one ends in no valid text.
        content = as_list(parse(base64.b64decode(state[:_LONGEST_STATE].encode(), altchars=b"-_", validate=True)))
    except ValueError:
        content = []
    if len(content) == 3:
        ids, reasons = as_list(content[1]), as_list(content[2])
        session_id, interrupts = as_text(content[0]), list(zip(map(as_text, ids), map(as_text, reasons), strict=False))
        if session_id and interrupts and len(interrupts) <= _MOST_INTERRUPTS:
            return session_id, interrupts
    raise InvalidRequest("requestState", "Send it back as it came", "请原样返回")


def _read_response(response: object) -> ElicitResult | None:
    try:
        return ElicitResult.model_validate(response)
    except ValidationError:
        return None


def _answer(interrupt_id: str, reason: str, response: ElicitResult) -> JsonValue:
    if response.action == "decline":
        return {"interruptId": interrupt_id, "status": "cancelled"}
    content = response.content or {}
    payload: dict[str, JsonValue] = {
        name: list[JsonValue](value) if isinstance(value, list) else value
        for name, value in content.items()
        if value is not None
    }
    if reason == "tool_call":
        payload = {"approved": payload.get("approved") is True}
    return {"interruptId": interrupt_id, "status": "resolved", "payload": payload}
