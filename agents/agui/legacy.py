"""AG-UI 0.x shapes in a run input, upgraded to 1.0 before validation."""

from pydantic import JsonValue

from core.errors import InvalidRunInput
from core.json_access import as_list, as_object, as_text

_KINDS = ("image", "audio", "video")


def upgrade(fields: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """The input without nulls for optional fields and with 0.x binary parts as media parts.

    Args:
        fields: A run input with camelCase keys at its top level.

    Raises:
        InvalidRunInput: A binary part that only names an id: nobody can fetch it.
    """
    upgraded: dict[str, JsonValue] = {
        key: value for key, value in fields.items() if value is not None
    }
    if isinstance(upgraded.get("messages"), list):
        upgraded["messages"] = [
            _message(message, f"messages.{index}")
            for index, message in enumerate(as_list(upgraded["messages"]))
        ]
    return upgraded


def _message(message: JsonValue, field: str) -> JsonValue:
    if not isinstance(message, dict):
        return message
    # A null content is no absent option: the model has to refuse it.
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
        raise InvalidRunInput(field=field, error="a binary part needs data or a url")
    media: dict[str, JsonValue] = {
        "type": family if family in _KINDS else "document",
        "source": source,
    }
    if filename := as_text(part.get("filename")):
        media["metadata"] = {"filename": filename}
    return media
