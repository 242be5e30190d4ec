"""Decoder of AG-UI run inputs, in either spelling, to ``RunRequest``."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import cast
from uuid import uuid4

import orjson
from ag_ui.core import RunAgentInput
from ag_ui.core import Tool as AguiTool
from ag_ui.core import ToolMessage as AguiToolMessage
from ag_ui.core import UserMessage as AguiUserMessage
from pydantic import JsonValue, ValidationError

from agents.agui.message_parts import read_content, text_of, upgrade_message_parts
from agents.client_time import read_client_time
from agents.run_request import (
    MOST_SKILLS,
    ClientTool,
    ContextItem,
    InterruptAnswer,
    RunOptions,
    RunRequest,
    SkillChoice,
    ToolMessage,
    UserMessage,
    read_skill_choices,
)
from core.errors.requests import InvalidRunInput
from core.json_access import as_object

LONGEST_ID = 200
MOST_MESSAGES = 10_000
MOST_TOOLS = 500
"""Tools of a frontend; a run offers fewer, and says which it leaves out."""
MOST_IDS = 100
"""Ids of one list, and answers; no run waits for more."""
# Limits of the event encoder.
_DEEPEST = 250
_LONGEST_PATH = 200
_INTEGERS = range(-(2**63), 2**64)
# Bound of the search for the faulty field; the body is rejected anyway.
_MOST_LOOKED_AT = 100_000
SNAKE_KEYS = {
    "thread_id": "threadId",
    "run_id": "runId",
    "parent_run_id": "parentRunId",
    "protocol_version": "protocolVersion",
    "forwarded_props": "forwardedProps",
}
"""Keys of a run's body in snake_case, and the protocol's spelling of them."""


def read_run_request(body: JsonValue, *, new_id: Callable[[], str] = lambda: str(uuid4())) -> RunRequest:
    """Validate the body of a run.

    Both spellings are read; ``thread_id`` in the body selects snake_case answers. Missing thread and
    run ids are generated. 0.x shapes are upgraded first.
    """
    if not isinstance(body, dict):
        raise InvalidRunInput(field="body", error="must be a JSON object")
    _refuse_unstorable(body)
    is_snake = not SNAKE_KEYS.keys().isdisjoint(body) and "threadId" not in body
    fields = _camel_keys(body)
    _check_length("messages", fields.get("messages"), MOST_MESSAGES)
    fields = upgrade_message_parts(fields)
    for name in ("threadId", "runId"):
        if fields.get(name) in (None, ""):
            fields[name] = new_id()
    agui = _validated(fields)
    for name, value in (("threadId", agui.thread_id), ("runId", agui.run_id)):
        _check_id(name, value)
    resume = agui.resume or []
    _check_length("resume", resume, MOST_IDS)
    _check_length("tools", agui.tools, MOST_TOOLS)
    answers = tuple(
        InterruptAnswer(entry.interrupt_id, entry.status, cast(JsonValue, entry.payload)) for entry in resume
    )
    results = _tool_messages(agui)
    messages = _user_messages(agui, may_be_none=bool(answers or results))
    return RunRequest(
        thread_id=agui.thread_id,
        run_id=agui.run_id,
        messages=messages,
        trailing=_count_trailing(agui, messages),
        answers=answers,
        tool_messages=results,
        options=_options(fields.get("forwardedProps")),
        state=_state(fields.get("state")),
        tools=tuple(_tool(index, tool) for index, tool in enumerate(agui.tools or ())),
        context=tuple(ContextItem(item.description, item.value) for item in agui.context or ()),
        parent_run_id=agui.parent_run_id,
        declared_version=agui.protocol_version,
        spelling="snake" if is_snake else "camel",
    )


def _check_length(field: str, value: object, most: int) -> None:
    if isinstance(value, list) and len(cast(list[object], value)) > most:
        raise InvalidRunInput(field=field, error=f"has more than {most} entries")


def read_thread_id(body: Mapping[str, JsonValue]) -> str:
    """The thread to join; raises ``InvalidRunInput`` for a missing or invalid id."""
    thread_id = body.get("threadId")
    if not isinstance(thread_id, str):
        raise InvalidRunInput(field="threadId", error="must be the id of a thread")
    if not _is_text(thread_id):
        raise InvalidRunInput(field="threadId", error="holds a character that is not text")
    _check_id("threadId", thread_id)
    return thread_id


def _check_id(field: str, value: str) -> None:
    if not value:
        raise InvalidRunInput(field=field, error="must not be empty")
    if len(value) > LONGEST_ID:
        raise InvalidRunInput(field=field, error=f"must have at most {LONGEST_ID} characters")


def _camel_keys(body: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    fields: dict[str, JsonValue] = {}
    for key, value in body.items():
        name = SNAKE_KEYS.get(key, key)
        if name in fields and fields[name] != value:
            raise InvalidRunInput(field=name, error="was given twice with different values")
        fields[name] = value
    return fields


def _validated(fields: dict[str, JsonValue]) -> RunAgentInput:
    try:
        return RunAgentInput.model_validate(fields)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False, include_context=False)[0]
        field = ".".join(map(str, fault["loc"])) or "body"
        raise InvalidRunInput(field=field[:200], error=fault["msg"][:200]) from error


def _tool(index: int, tool: AguiTool) -> ClientTool:
    field = f"tools.{index}.name"
    if not tool.name.strip():
        raise InvalidRunInput(field=field, error="must not be empty: a model calls the tool by it")
    _check_id(field, tool.name)
    return ClientTool(tool.name, tool.description, as_object(tool.parameters))


def _tool_messages(agui: RunAgentInput) -> tuple[ToolMessage, ...]:
    return tuple(
        ToolMessage(message.tool_call_id, text_of(message.content), message.error or "")
        for message in agui.messages
        if isinstance(message, AguiToolMessage)
    )


def _user_messages(agui: RunAgentInput, *, may_be_none: bool) -> tuple[UserMessage, ...]:
    """The user's own messages only; the caller's other messages are not trusted."""
    by_id: dict[str, UserMessage] = {}
    last = max((index for index, message in enumerate(agui.messages) if message.role == "user"), default=None)
    if last is None and may_be_none:
        return ()
    if last is None:
        raise InvalidRunInput(field="messages", error="must hold a message of the user")
    for index, message in enumerate(agui.messages):
        if isinstance(message, AguiUserMessage):
            _check_id(f"messages.{index}.id", message.id)
            content = read_content(message.content, field=f"messages.{index}.content", is_question=index == last)
            read = UserMessage(message.id, content.text, media=content.media)
            if by_id.setdefault(message.id, read).text != read.text:
                raise InvalidRunInput(field="messages", error="two messages have the same id")
            by_id[message.id] = read
    return tuple(message for message in by_id.values() if message.text.strip())


def _count_trailing(agui: RunAgentInput, messages: Sequence[UserMessage]) -> int:
    """How many messages at the end follow the last one of an assistant or a tool; 0 where there is none."""
    replies = [index for index, message in enumerate(agui.messages) if message.role in {"assistant", "tool"}]
    if not replies:
        return 0
    before = {message.id for message in agui.messages[: replies[-1]]}
    return sum(message.id not in before for message in messages)


def _state(state: JsonValue) -> dict[str, JsonValue]:
    if state is not None and not isinstance(state, dict):
        raise InvalidRunInput(field="state", error="must be an object")
    return state or {}


def _options(props: JsonValue) -> RunOptions:
    if props is not None and not isinstance(props, dict):
        raise InvalidRunInput(field="forwardedProps", error="must be an object")
    fields = props or {}
    return RunOptions(
        agent_type=_optional_text(fields, "agent_type", "agentType"),
        model_id=_optional_text(fields, "model_id", "modelId"),
        knowledge_base_ids=_optional_ids(fields, "knowledge_base_ids", "knowledgeBaseIds"),
        mcp_connection_ids=_optional_ids(fields, "mcp_connection_ids", "mcpConnectionIds"),
        skill_ids=_skill_choices(fields, "skill_ids", "skillIds"),
        client_time=read_client_time(fields.get("client_time", fields.get("clientTime"))),
        skill_inputs=_optional_object(fields, "skill_inputs", "skillInputs"),
    )


def _optional_text(fields: dict[str, JsonValue], *names: str) -> str | None:
    for name in names:
        value = fields.get(name)
        if isinstance(value, str):
            return value or None
        if value is not None:
            raise InvalidRunInput(field=f"forwardedProps.{name}", error="must be a string")
    return None


def _optional_ids(fields: dict[str, JsonValue], *names: str) -> tuple[str, ...] | None:
    for name in names:
        value = fields.get(name)
        if value is None:
            continue
        ids = [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
        if not isinstance(value, list) or len(ids) < len(value):
            raise InvalidRunInput(field=f"forwardedProps.{name}", error="must be a list of strings")
        if len(ids) > MOST_IDS:
            error = f"has more than {MOST_IDS} entries"
            raise InvalidRunInput(field=f"forwardedProps.{name}", error=error)
        return tuple(dict.fromkeys(ids))
    return None


def _skill_choices(fields: dict[str, JsonValue], *names: str) -> tuple[SkillChoice, ...] | None:
    for name in names:
        value = fields.get(name)
        if value is None:
            continue
        choices = read_skill_choices(value)
        if choices is None:
            error = "must be a list of ids or of {id, version}"
            raise InvalidRunInput(field=f"forwardedProps.{name}", error=error)
        if len(choices) > MOST_SKILLS:
            error = f"has more than {MOST_SKILLS} entries"
            raise InvalidRunInput(field=f"forwardedProps.{name}", error=error)
        return choices
    return None


def _optional_object(fields: dict[str, JsonValue], *names: str) -> dict[str, JsonValue]:
    for name in names:
        value = fields.get(name)
        if value is None:
            continue
        if not isinstance(value, dict):
            raise InvalidRunInput(field=f"forwardedProps.{name}", error="must be an object")
        return value
    return {}


def _refuse_unstorable(body: JsonValue) -> None:
    with suppress(orjson.JSONEncodeError):
        if b"\\u0000" not in orjson.dumps(body):
            return
    field, fault = _find_fault(body)
    if fault:
        raise InvalidRunInput(field=field or "body", error=fault)


def _find_fault(body: JsonValue) -> tuple[str, str]:
    """Field and fault; a spelt-out ``\\u0000`` is fine."""
    waiting: list[tuple[str, int, JsonValue]] = [("", 0, body)]
    for _ in range(_MOST_LOOKED_AT):
        if not waiting:
            return "", ""
        path, depth, value = waiting.pop()
        if fault := _fault(value, depth):
            return path, fault
        inner: Iterable[tuple[str | int, JsonValue]] = ()
        if isinstance(value, dict):
            inner = value.items()
        elif isinstance(value, list):
            inner = enumerate(value)
        waiting += [(_below(path, key), depth + 1, item) for key, item in inner]
    return "", "holds something that can't be stored"


def _below(path: str, key: str | int) -> str:
    # Cut, because the path is built for each value below a key.
    return f"{path}.{str(key)[:_LONGEST_PATH]}".strip(".")[:_LONGEST_PATH]


def _fault(value: JsonValue, depth: int) -> str:
    texts = value if isinstance(value, dict) else (value,)
    if not all(_is_text(text) for text in texts if isinstance(text, str)):
        return "holds a character that is not text"
    if depth > _DEEPEST:
        return "is nested too deep"
    if isinstance(value, int) and value not in _INTEGERS:
        return "is a number that is too large"
    return ""


def _is_text(text: str) -> bool:
    """Whether text can be stored: no U+0000 (databases) and no lone surrogates (UTF-8)."""
    try:
        return b"\x00" not in text.encode()
    except UnicodeEncodeError:
        return False
