"""Validation of ``RunAgentInput`` (docs/reference/run-input.md, section "Validation rules")."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from pydantic import JsonValue

from agents.agui.decoder import read_run_request
from agents.agui.field_names import SNAKE_KEYS, spelt_as_in
from agents.run_request import MOST_ATTACHMENTS, ImageRef, RunRequest
from agents.strategies import STRATEGIES
from core.errors.requests import InvalidRunInput, MalformedJson, RejectedRunInput
from core.json_access import as_list, as_object, as_text, parse

MOST_BYTES = 256 * 1024
"""Bytes of the largest body."""
_LONGEST_RUN_ID = 128
_MOST_MESSAGES = 200
_LONGEST_TEXT = 10_000
_LONGEST_DETAIL = 100
_PROPS = frozenset({"agent_type", "client_time"})
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_TAKEN = (
    "threadId", "runId", "parentRunId", "protocolVersion", "tools", "context", "forwardedProps",
    "resume",
)  # fmt: skip


class InputRule(Enum):
    """The validation table in its order: each message in English and Chinese."""

    SIZE = "RunAgentInput payload exceeds size limit", "RunAgentInput 超过 256 KB"
    THREAD_ID = "threadId must be a valid UUID", "threadId 必须是有效的 UUID"
    RUN_ID = "runId exceeds length limit", "runId 最多 128 个字符"
    MESSAGES = "RunAgentInput.messages exceeds limit", "messages 最多 200 条"
    TEXT = "RunAgentInput user message text exceeds limit", "用户消息文本最多 10,000 个字符"
    PROPS = "invalid RunAgentInput.forwardedProps", "forwardedProps 无效"
    ONE_USER = ("RunAgentInput.messages must contain exactly one user message", "messages 必须恰好包含一条用户消息")
    USER_FIRST = "RunAgentInput.messages[0].role must be user", "第一条消息必须是用户消息"
    IMAGE = "binary content requires image mimeType", "二进制内容的 mimeType 必须是 image/*"
    URL = "binary content requires url", "二进制内容必须有有效的签名 url"
    DATA = "binary content data is not allowed", "二进制内容不允许使用 data"
    ATTACHMENTS = "Too many attachments", "单条消息最多 3 个附件"

    def broken(self, field: str, **details: object) -> RejectedRunInput:
        message, message_zh = self.value
        return RejectedRunInput(message, message_zh=message_zh, field=field, **details)


@dataclass(frozen=True, slots=True)
class AttachedImage:
    """An image of the question, by its signed URL."""

    mime_type: str
    url: str
    filename: str


@dataclass(frozen=True, slots=True)
class RunInput:
    """A validated request for a run; the question in ``request`` is text alone."""

    request: RunRequest
    images: tuple[AttachedImage, ...]


def read_run_input(body: bytes) -> RunInput:
    """Validate a body in camelCase or snake_case, in the order of the rules.

    The caller's assistant, tool and system messages are checked for shape only and not trusted; its
    ``tools`` belong to its frontend and register nothing here. Faults beyond the rules' table are
    ``invalid RunAgentInput.<field>``.
    """
    if len(body) > MOST_BYTES:
        raise InputRule.SIZE.broken("body", max_bytes=MOST_BYTES)
    fields = _parsed(body)
    with spelt_as_in(fields):
        return _read(fields)


def _read(body: dict[str, JsonValue]) -> RunInput:
    fields = _camel_keys(body)
    _check_ids(fields)
    messages = _messages(fields.get("messages"))
    asking = [place for place, message in enumerate(messages) if message.get("role") == "user"]
    for place in asking:
        if len(_text(messages[place])) > _LONGEST_TEXT:
            raise InputRule.TEXT.broken(f"messages.{place}.content", max_characters=_LONGEST_TEXT)
    _check_props(fields.get("forwardedProps"))
    if len(asking) != 1:
        raise InputRule.ONE_USER.broken("messages", user_messages=len(asking))
    if asking != [0]:
        raise InputRule.USER_FIRST.broken("messages.0.role")
    question, *others = messages
    images = tuple(_images(question))
    return RunInput(_request(fields, question, others, images), images)


def with_images(request: RunRequest, images: Sequence[ImageRef]) -> RunRequest:
    """The request with images on its question."""
    if not images:
        return request
    (question,) = request.messages
    return replace(request, messages=(replace(question, images=tuple(images)),))


def invalid(field: str, error: str = "", error_zh: str = "") -> RejectedRunInput:
    """A fault without a row in the table."""
    name = f"RunAgentInput.{field}" if field else "RunAgentInput"
    more = {"error": error, "error_zh": error_zh} if error else {}
    return RejectedRunInput(f"invalid {name}", message_zh=f"{name} 无效", field=field or "body", **more)


def _parsed(body: bytes) -> dict[str, JsonValue]:
    try:
        data = parse(body)
    except ValueError as error:
        raise MalformedJson from error
    if not isinstance(data, dict):
        raise invalid("")
    return data


def _camel_keys(body: dict[str, JsonValue]) -> dict[str, JsonValue]:
    fields: dict[str, JsonValue] = {}
    for key, value in body.items():
        name = SNAKE_KEYS.get(key, key)
        if name in fields and fields[name] != value:
            raise invalid(name, "was given twice with different values", "出现了两次且值不同")
        fields[name] = value
    return fields


def _check_ids(fields: dict[str, JsonValue]) -> None:
    thread_id, run_id = fields.get("threadId"), fields.get("runId")
    if not isinstance(thread_id, str) or not _UUID.fullmatch(thread_id):
        raise InputRule.THREAD_ID.broken("threadId")
    if not isinstance(run_id, str) or not run_id:
        raise invalid("runId", "must be a text", "必须是文本")
    if len(run_id) > _LONGEST_RUN_ID:
        raise InputRule.RUN_ID.broken("runId", max_characters=_LONGEST_RUN_ID)


def _messages(value: JsonValue) -> list[dict[str, JsonValue]]:
    if value is not None and not isinstance(value, list):
        raise invalid("messages", "must be a list", "必须是列表")
    messages = as_list(value)
    if len(messages) > _MOST_MESSAGES:
        raise InputRule.MESSAGES.broken("messages", max_messages=_MOST_MESSAGES)
    if not all(isinstance(message, dict) for message in messages):
        raise invalid("messages", "must be a list of objects", "必须是对象列表")
    return [as_object(message) for message in messages]


def _text(message: dict[str, JsonValue]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise invalid("messages", "a user message has a text or a list of blocks", "用户消息必须是文本或内容块列表")
    texts: list[str] = []
    for block in map(as_object, content):
        if block.get("type") == "text" and isinstance(block.get("text"), str):
            texts.append(as_text(block["text"]))
        elif block.get("type") != "binary":
            raise invalid("messages", "a block is a text or binary", "内容块的类型必须是 text 或 binary")
    return "\n".join(texts)


def _check_props(props: JsonValue) -> None:
    field = "forwardedProps.agent_type"
    if not isinstance(props, dict):
        raise InputRule.PROPS.broken("forwardedProps", error="must be an object", error_zh="必须是对象")
    if unknown := sorted(props.keys() - _PROPS):
        raise InputRule.PROPS.broken(
            f"forwardedProps.{unknown[0][:_LONGEST_DETAIL]}", error="unknown", error_zh="未知的字段"
        )
    agent_type = props.get("agent_type")
    if not isinstance(agent_type, str) or not agent_type:
        raise InputRule.PROPS.broken(field, error="must be named", error_zh="必须给出")
    if agent_type not in STRATEGIES:
        shortened = agent_type[:_LONGEST_DETAIL]
        raise InputRule.PROPS.broken(field, agent_type=shortened, known=sorted(STRATEGIES))


def _images(question: dict[str, JsonValue]) -> list[AttachedImage]:
    images: list[AttachedImage] = []
    for place, block in enumerate(map(as_object, as_list(question.get("content")))):
        if block.get("type") != "binary":
            continue
        field = f"messages.0.content.{place}"
        mime_type = as_text(block.get("mimeType", block.get("mime_type"))).lower()
        if not re.fullmatch(r"image/[\w.+-]{1,100}", mime_type, re.ASCII):
            raise InputRule.IMAGE.broken(field)
        if block.get("data") is not None:
            raise InputRule.DATA.broken(field)
        url = block.get("url")
        if not isinstance(url, str) or not url:
            raise InputRule.URL.broken(field)
        images.append(AttachedImage(mime_type, url, as_text(block.get("filename"))))
    if len(images) > MOST_ATTACHMENTS:
        raise InputRule.ATTACHMENTS.broken("messages.0.content", max_attachments=MOST_ATTACHMENTS)
    return images


def _request(
    fields: dict[str, JsonValue],
    question: dict[str, JsonValue],
    others: Sequence[dict[str, JsonValue]],
    images: Sequence[AttachedImage],
) -> RunRequest:
    text = _text(question)
    if not text.strip() and images:
        # The question must not be empty: use the image names.
        text = ", ".join(image.filename or image.mime_type for image in images)
    state = fields.get("state")
    agui: dict[str, JsonValue] = {
        **{name: fields[name] for name in _TAKEN if name in fields},
        # Any JSON is accepted as state; the engine needs an object.
        "state": state if isinstance(state, dict) or state is None else {"value": state},
        "messages": [{**question, "content": text}, *others],
    }
    try:
        request = read_run_request(agui)
    except InvalidRunInput as error:
        raise _as_rejected(error) from error
    return replace(request, tools=())


def _as_rejected(error: InvalidRunInput) -> RejectedRunInput:
    field, fault = str(error.details["field"]), str(error.details["error"])
    if fault.startswith("invalid client_time"):
        # Messages are fixed by the contract.
        return RejectedRunInput(fault, message_zh=str(error.details["error_zh"]), field=field)
    rejected = invalid(field.partition(".")[0], fault, str(error.details["error_zh"]))
    rejected.details["field"] = field
    return rejected
