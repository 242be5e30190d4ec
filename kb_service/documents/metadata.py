"""User-defined document metadata, which searches can filter by."""

import json
import math
from typing import TypeGuard

from pydantic import JsonValue

from core.errors.requests import InvalidRequest

Attributes = dict[str, JsonValue]

_MOST_KEYS = 20
_LONGEST_KEY = 64
_LONGEST_TEXT = 1000
_MOST_ITEMS = 50
# JavaScript's largest safe integer.
_LARGEST_INTEGER = 2**53 - 1
_MOST_BYTES = 8192


def validate_attributes(value: object) -> Attributes:
    """Check metadata: at most 20 keys, with texts, numbers, booleans or lists of texts as values."""
    if not _is_object(value):
        raise _refusal("Send an object of keys and values", "请给出由键和值组成的对象")
    if len(value) > _MOST_KEYS:
        raise _refusal(f"Use at most {_MOST_KEYS} keys", f"最多 {_MOST_KEYS} 个键")
    attributes = {_checked_key(key): _checked_value(item) for key, item in value.items()}
    if len(json.dumps(attributes, ensure_ascii=False).encode()) > _MOST_BYTES:
        raise _refusal(f"Use at most {_MOST_BYTES} bytes in all", f"总共最多 {_MOST_BYTES} 字节")
    return attributes


def parse_attributes(text: str) -> Attributes:
    """Parse and check metadata from the JSON text of a form field."""
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _refusal("Send a JSON object", "请给出 JSON 对象") from error
    return validate_attributes(value)


def _is_object(value: object) -> TypeGuard[dict[str, object]]:
    return isinstance(value, dict)


def _is_list(value: object) -> TypeGuard[list[object]]:
    return isinstance(value, list)


def _checked_key(key: str) -> str:
    if not key.strip() or len(key) > _LONGEST_KEY or not _is_clean(key):
        raise _refusal(f"A key has 1 to {_LONGEST_KEY} characters", f"键应为 1 到 {_LONGEST_KEY} 个字符")
    return key


def _checked_value(value: object) -> JsonValue:
    match value:
        case bool():
            return value
        case int() if abs(value) <= _LARGEST_INTEGER:
            return value
        case float() if math.isfinite(value):
            return value
        case str():
            return _checked_text(value)
        case _ if _is_list(value) and len(value) <= _MOST_ITEMS:
            return [_checked_text(item) for item in value]
        case _:
            raise _refusal(
                f"A value is a text, a number, true, false or a list of up to {_MOST_ITEMS} texts",
                f"值应为文本、数字、true、false 或最多 {_MOST_ITEMS} 个文本的列表",
            )


def _checked_text(value: object) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST_TEXT or not _is_clean(value):
        raise _refusal(f"A text has at most {_LONGEST_TEXT} characters", f"文本最多 {_LONGEST_TEXT} 个字符")
    return value


def _is_clean(text: str) -> bool:
    # PostgreSQL can't store NUL, UTF-8 can't encode lone surrogates.
    return "\x00" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def _refusal(error: str, error_zh: str) -> InvalidRequest:
    return InvalidRequest("metadata", error, error_zh)
