"""Parts of messages: the texts, pictures and files of a user's message, and those of clients before AG-UI 1.0."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ag_ui.core import DataSource, DocumentPart, FileSource, ImagePart, TextPart, UrlSource
from pydantic import JsonValue

from agents.run_request import MOST_ATTACHMENTS, MediaPart
from core.errors.requests import InvalidRunInput
from core.json_access import as_list, as_object, as_text

_KINDS = ("image", "audio", "video")
_LONGEST_NAME = 200
_UNFETCHABLE = (
    "can't be fetched: send the bytes as a source of type data, or a url",
    "无法获取：请以 data 类型的 source 发送内容，或给出 url",
)
TOO_MANY = (f"has more than {MOST_ATTACHMENTS} pictures and files", f"最多 {MOST_ATTACHMENTS} 个图片和文件")
"""The refusal of more attachments than a message may have, in English and Chinese."""

_PROVIDER = "agentex"
_INLINE, _BASE64 = "data:", ";base64,"


@dataclass(frozen=True, slots=True)
class MessageContent:
    """The content of a user's message; of earlier messages the text alone, their media was read before."""

    text: str
    media: tuple[MediaPart, ...] = ()


def text_of(content: str | Sequence[object]) -> str:
    """The text parts of a content, joined."""
    if isinstance(content, str):
        return content
    return "\n".join(part.text for part in content if isinstance(part, TextPart))


def read_content(
    content: str | Sequence[object], *, field: str, is_question: bool, is_answered: bool = False
) -> MessageContent:
    """Read the content of a user's message; without a text it is called by the names of its pictures and files.

    The media of an answered message were read before.

    Raises:
        InvalidRunInput: The question is empty, or has a part that can't be read or too many of them.
    """
    text = text_of(content)
    media: list[MediaPart] = []
    for index, part in enumerate([] if isinstance(content, str) else content):
        read = _read_media(part, f"{field}.{index}")
        if isinstance(read, MediaPart):
            media.append(read)
        elif read and not is_answered:
            raise InvalidRunInput(f"{field}.{index}", *read)
    if not text.strip() and media:
        text = ", ".join(part.label for part in media)
    if is_answered:
        return MessageContent(text)
    if len(media) > MOST_ATTACHMENTS:
        raise InvalidRunInput(field, *TOO_MANY)
    if is_question and not text.strip():
        raise InvalidRunInput(field, "must not be empty", "不能为空")
    return MessageContent(text, tuple(media))


def _read_media(part: object, field: str) -> MediaPart | tuple[str, str] | None:
    """The picture or file of a part, or why it can't be read in English and Chinese; None for a text."""
    if isinstance(part, TextPart):
        return None
    if not isinstance(part, (ImagePart, DocumentPart)):
        return "can't be read: send text, images or documents", "无法读取：请发送文本、图片或文档"
    source = part.source
    kind: Literal["image", "document"] = "image" if isinstance(part, ImagePart) else "document"
    filename = _filename(part)
    if isinstance(source, FileSource) and source.provider == _PROVIDER:
        return MediaPart(field, kind, mime_type=source.mime_type or "", filename=filename, attachment_id=source.value)
    if not isinstance(source, (DataSource, UrlSource)):
        return _UNFETCHABLE
    mime_type, _, data = source.value[len(_INLINE) :].partition(_BASE64)
    if source.value[: len(_INLINE)].lower() == _INLINE and len(mime_type) < _LONGEST_NAME:
        return MediaPart(field, kind, data=data, mime_type=source.mime_type or mime_type, filename=filename)
    if isinstance(source, DataSource):
        return MediaPart(field, kind, data=source.value, mime_type=source.mime_type, filename=filename)
    return MediaPart(field, kind, url=source.value, mime_type=source.mime_type or "", filename=filename)


def _filename(part: ImagePart | DocumentPart) -> str:
    metadata = as_object(part.metadata)
    return (as_text(metadata.get("filename")) or as_text(metadata.get("name"))).strip()[:_LONGEST_NAME]


def upgrade_message_parts(fields: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """The input (top-level keys in camelCase) without nulls, and with 0.x binary parts as media parts.

    Binary parts with only an id are rejected: nobody can fetch them.
    """
    upgraded: dict[str, JsonValue] = {key: value for key, value in fields.items() if value is not None}
    if isinstance(upgraded.get("messages"), list):
        upgraded["messages"] = [
            _message(message, f"messages.{index}") for index, message in enumerate(as_list(upgraded["messages"]))
        ]
    return upgraded


def _message(message: JsonValue, field: str) -> JsonValue:
    if not isinstance(message, dict):
        return message
    # Null content must be rejected by the model, unlike absent options.
    upgraded = {key: v for key, v in message.items() if v is not None or key == "content"}
    if isinstance(upgraded.get("content"), list):
        upgraded["content"] = _parts(as_list(upgraded["content"]), f"{field}.content")
    return upgraded


def _parts(parts: list[JsonValue], field: str) -> list[JsonValue]:
    modern = [part for part in parts if as_object(part).get("type") != "binary"]
    upgraded: list[JsonValue] = []
    for index, part in enumerate(parts):
        fields = as_object(part)
        if fields.get("type") != "binary":
            upgraded.append(part)
            continue
        media = _media_part(fields, f"{field}.{index}")
        if media not in modern:
            upgraded.append(media)
    return upgraded


def _media_part(part: dict[str, JsonValue], field: str) -> dict[str, JsonValue]:
    mime_type = as_text(part.get("mimeType")) or as_text(part.get("mime_type"))
    family = mime_type.partition("/")[0]
    source: dict[str, JsonValue]
    if data := as_text(part.get("data")):
        source = {"type": "data", "value": data, "mimeType": mime_type}
    elif url := as_text(part.get("url")):
        source = {"type": "url", "value": url, "mimeType": mime_type}
    else:
        raise InvalidRunInput(field, "a binary part needs data or a url", "binary 部分需要 data 或 url")
    media: dict[str, JsonValue] = {"type": family if family in _KINDS else "document", "source": source}
    if filename := as_text(part.get("filename")):
        media["metadata"] = {"filename": filename}
    return media
