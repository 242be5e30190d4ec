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

from agents.agui.field_names import SNAKE_KEYS, is_snake_case, spelt_as_in
from agents.agui.message_parts import read_content, text_of, upgrade_message_parts
from agents.client_time import read_client_time
from agents.run_request import (
    MOST_SKILLS,
    NO_CHOICES,
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
from core.types.validation_errors import error_details

LONGEST_ID = 200
MOST_MESSAGES = 10_000
MOST_TOOLS = 500
"""Tools of a frontend; a run offers fewer, and says which it leaves out."""
MOST_IDS = 100
"""Ids of one list, and answers; no run waits for more."""
# Limits of the event encoder.
_DEEPEST = 250
_LONGEST_PATH = 200
_LONGEST_FAULT = 200
_INTEGERS = range(-(2**63), 2**64)
# Bound of the search for the faulty field; the body is rejected anyway.
_MOST_LOOKED_AT = 100_000
_NOT_AN_OBJECT = "must be an object", "必须是对象"
_NOT_TEXT = "holds a character that is not text", "含有非文本字符"
_EMPTY = "must not be empty", "不能为空"


def read_run_request(body: JsonValue, *, new_id: Callable[[], str] = lambda: str(uuid4())) -> RunRequest:
    """Validate the body of a run.

    Both spellings are read; ``thread_id`` in the body selects snake_case answers. Missing thread and
    run ids are generated. 0.x shapes are upgraded first.
    """
    if not isinstance(body, dict):
        raise InvalidRunInput("body", "must be a JSON object", "必须是 JSON 对象")
    with spelt_as_in(body):
        return _read(body, new_id)


def _read(body: dict[str, JsonValue], new_id: Callable[[], str]) -> RunRequest:
    _refuse_unstorable(body)
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
        spelling="snake" if is_snake_case(body) else "camel",
    )


def _check_length(field: str, value: object, most: int) -> None:
    if isinstance(value, list) and len(cast(list[object], value)) > most:
        raise InvalidRunInput(field, *_too_many(most))


def _too_many(most: int) -> tuple[str, str]:
    return f"has more than {most} entries", f"最多 {most} 项"


def read_thread_id(body: Mapping[str, JsonValue]) -> str:
    """The thread to join; raises ``InvalidRunInput`` for a missing or invalid id."""
    thread_id = body.get("threadId")
    if not isinstance(thread_id, str):
        raise InvalidRunInput("threadId", "must be the id of a thread", "必须是线程 ID")
    if not _is_text(thread_id):
        raise InvalidRunInput("threadId", *_NOT_TEXT)
    _check_id("threadId", thread_id)
    return thread_id


def _check_id(field: str, value: str) -> None:
    if not value:
        raise InvalidRunInput(field, *_EMPTY)
    if len(value) > LONGEST_ID:
        raise InvalidRunInput(field, f"must have at most {LONGEST_ID} characters", f"最多 {LONGEST_ID} 个字符")


def _camel_keys(body: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    fields: dict[str, JsonValue] = {}
    for key, value in body.items():
        name = SNAKE_KEYS.get(key, key)
        if name in fields and fields[name] != value:
            raise InvalidRunInput(name, "was given twice with different values", "出现了两次且值不同")
        fields[name] = value
    return fields


def _validated(fields: dict[str, JsonValue]) -> RunAgentInput:
    try:
        return RunAgentInput.model_validate(fields)
    except ValidationError as error:
        problems = [{**problem, "loc": ("body", *problem["loc"])} for problem in error.errors(include_url=False)]
        details = error_details(problems, fields)
        field, fault = str(details["field"])[:_LONGEST_PATH], str(details["error"])
        fault_zh = str(details.get("error_zh", fault))
        raise InvalidRunInput(field, fault[:_LONGEST_FAULT], fault_zh[:_LONGEST_FAULT]) from error


def _tool(index: int, tool: AguiTool) -> ClientTool:
    field = f"tools.{index}.name"
    if not tool.name.strip():
        raise InvalidRunInput(
            field, "must not be empty: a model calls the tool by it", "不能为空：模型以该名称调用工具"
        )
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
        raise InvalidRunInput("messages", "must hold a message of the user", "必须包含一条用户消息")
    replied = max((i for i, other in enumerate(agui.messages) if other.role in {"assistant", "tool"}), default=-1)
    for index, message in enumerate(agui.messages):
        if isinstance(message, AguiUserMessage):
            _check_id(f"messages.{index}.id", message.id)
            field = f"messages.{index}.content"
            # Nobody has answered what follows the last reply: its media are still to be read.
            is_answered = index < last and index <= replied
            content = read_content(message.content, field=field, is_question=index == last, is_answered=is_answered)
            read = UserMessage(message.id, content.text, media=content.media)
            if by_id.setdefault(message.id, read).text != read.text:
                raise InvalidRunInput("messages", "two messages have the same id", "两条消息的 ID 相同")
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
        raise InvalidRunInput("state", *_NOT_AN_OBJECT)
    return state or {}


def _options(props: JsonValue) -> RunOptions:
    if props is not None and not isinstance(props, dict):
        raise InvalidRunInput("forwardedProps", *_NOT_AN_OBJECT)
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
            raise InvalidRunInput(f"forwardedProps.{name}", "must be a string", "必须是字符串")
    return None


def _optional_ids(fields: dict[str, JsonValue], *names: str) -> tuple[str, ...] | None:
    for name in names:
        value = fields.get(name)
        if value is None:
            continue
        ids = [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
        if not isinstance(value, list) or len(ids) < len(value):
            raise InvalidRunInput(f"forwardedProps.{name}", "must be a list of strings", "必须是字符串列表")
        if len(ids) > MOST_IDS:
            raise InvalidRunInput(f"forwardedProps.{name}", *_too_many(MOST_IDS))
        return tuple(dict.fromkeys(ids))
    return None


def _skill_choices(fields: dict[str, JsonValue], *names: str) -> tuple[SkillChoice, ...] | None:
    for name in names:
        value = fields.get(name)
        if value is None:
            continue
        choices = read_skill_choices(value)
        if choices is None:
            raise InvalidRunInput(f"forwardedProps.{name}", *NO_CHOICES)
        if len(choices) > MOST_SKILLS:
            raise InvalidRunInput(f"forwardedProps.{name}", *_too_many(MOST_SKILLS))
        return choices
    return None


def _optional_object(fields: dict[str, JsonValue], *names: str) -> dict[str, JsonValue]:
    for name in names:
        value = fields.get(name)
        if value is None:
            continue
        if not isinstance(value, dict):
            raise InvalidRunInput(f"forwardedProps.{name}", *_NOT_AN_OBJECT)
        return value
    return {}


def _refuse_unstorable(body: JsonValue) -> None:
    with suppress(orjson.JSONEncodeError):
        if b"\\u0000" not in orjson.dumps(body):
            return
    field, fault = _find_fault(body)
    if fault:
        raise InvalidRunInput(field or "body", *fault)


def _find_fault(body: JsonValue) -> tuple[str, tuple[str, str] | None]:
    """Field and fault; a spelt-out ``\\u0000`` is fine."""
    waiting: list[tuple[str, int, JsonValue]] = [("", 0, body)]
    for _ in range(_MOST_LOOKED_AT):
        if not waiting:
            return "", None
        path, depth, value = waiting.pop()
        if fault := _fault(value, depth):
            return path, fault
        inner: Iterable[tuple[str | int, JsonValue]] = ()
        if isinstance(value, dict):
            inner = value.items()
        elif isinstance(value, list):
            inner = enumerate(value)
        waiting += [(_below(path, key), depth + 1, item) for key, item in inner]
    return "", ("holds something that can't be stored", "含有无法存储的内容")


def _below(path: str, key: str | int) -> str:
    # Cut, because the path is built for each value below a key.
    return f"{path}.{str(key)[:_LONGEST_PATH]}".strip(".")[:_LONGEST_PATH]


def _fault(value: JsonValue, depth: int) -> tuple[str, str] | None:
    texts = value if isinstance(value, dict) else (value,)
    if not all(_is_text(text) for text in texts if isinstance(text, str)):
        return _NOT_TEXT
    if depth > _DEEPEST:
        return "is nested too deep", "嵌套过深"
    if isinstance(value, int) and value not in _INTEGERS:
        return "is a number that is too large", "数字过大"
    return None


def _is_text(text: str) -> bool:
    """Whether text can be stored: no U+0000 (databases) and no lone surrogates (UTF-8)."""
    try:
        return b"\x00" not in text.encode()
    except UnicodeEncodeError:
        return False
