"""Types of parameters, and coercion of written values."""

import datetime
import math
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

import orjson

NAMES: Mapping[str, tuple[str, ...]] = {
    "string": ("string", "str", "text", "字符串", "文本", "字符", "文字"),
    "integer": ("integer", "int", "整数", "整型", "整形"),
    "number": ("number", "float", "double", "decimal", "数字", "数值", "浮点数", "小数"),
    "boolean": ("boolean", "bool", "布尔", "布尔值", "是否"),
    "array": ("array", "list", "数组", "列表"),
    "object": ("object", "dict", "map", "json", "对象", "字典"),
    "enum": ("enum", "枚举"),
    "date": ("date", "日期"),
    "datetime": ("datetime", "timestamp", "date-time", "时间", "日期时间"),
    "file": ("file", "文件"),
}
"""Types and how they are written, the usual name first."""

TYPES: Mapping[str, str] = {name: key for key, names in NAMES.items() for name in names}
"""Written names of types and what they stand for."""

_GENERIC = re.compile(r"(array|list|数组|列表)\s*[<\[]\s*(\S[^<>\[\]]*?)\s*[>\]]", re.IGNORECASE)
_OF = re.compile(r"(\S+)\[\]")
_INTEGER = re.compile(r"[+-]?\d{1,40}")
_NUMBER = re.compile(r"[+-]?(?:\d{1,60}(?:\.\d{0,60})?|\.\d{1,60})(?:[eE][+-]?\d{1,4})?")
_TRUE = frozenset({"true", "yes", "y", "on", "是", "真", "对", "开", "开启", "启用", "✓", "✔", "√", "✅", "必填"})
_FALSE = frozenset({"false", "no", "n", "off", "否", "假", "不", "关", "关闭", "禁用", "✗", "✘", "×", "❌", "可选"})
_NULL = frozenset({"", "-", "—", "–", "--", "无", "null", "none", "nil", "n/a"})
_Read = TypeVar("_Read", list[object], dict[str, object])
_SPLIT = re.compile(r"[,，、;；|]")


@dataclass(frozen=True, slots=True)
class Type:
    """A parameter's type; ``items`` is the type of an array's members."""

    name: str
    items: str | None = None


class Mismatch(ValueError):
    """A written value is not of the type."""


def read_type(text: str) -> Type | None:
    """A type as written (``array<string>``, ``整数``, ``string[]``), or ``None``."""
    word = unicodedata.normalize("NFKC", text).strip().strip("`*").strip().lower()
    if name := TYPES.get(word):
        return Type(name)
    if match := _GENERIC.fullmatch(word):
        return Type("array", TYPES.get(match[2])) if match[2] in TYPES else None
    if (match := _OF.fullmatch(word)) and match[1] in TYPES:
        return Type("array", TYPES[match[1]])
    return None


def bare(text: str) -> str:
    """A value without its code marks or quotes."""
    text = text.strip()
    for mark in ("`", '"', "'", "“”", "「」"):
        if len(text) >= 2 and text[0] == mark[0] and text[-1] == mark[-1]:
            return text[1:-1].strip() if mark == "`" else text[1:-1]
    return text


def is_null(text: str) -> bool:
    """Whether a cell or attribute means no value."""
    return text.strip().lower() in _NULL


def read_flag(text: str) -> bool | None:
    """A yes or no as written, ``None`` for anything else."""
    word = unicodedata.normalize("NFKC", bare(text)).strip().strip("\ufe0f").lower()
    if word in _TRUE or word in {"1", "required", "必须", "必需"}:
        return True
    if word in _FALSE or word in {"0", "optional", "非必填", "选填"}:
        return False
    return None


def coerce(text: str, of: Type) -> object:
    """A written value, perhaps in marks, as one of the type, else ``Mismatch``; an enum's members are texts."""
    value = bare(text)
    match of.name:
        case "integer":
            return _integer(value)
        case "number":
            return read_number(value)
        case "boolean":
            flag = read_flag(value)
            if flag is None:
                raise Mismatch
            return flag
        case "array":
            return read_array(value, of)
        case "object":
            return _json(value, dict)
        case "date" | "datetime":
            return _moment(value, of.name)
        case _:
            return value


def _integer(value: str) -> int:
    word = unicodedata.normalize("NFKC", value).replace("_", "")
    if not _INTEGER.fullmatch(word):
        raise Mismatch
    return int(word)


def read_number(value: str) -> int | float:
    """A finite number as written, else ``Mismatch``."""
    word = unicodedata.normalize("NFKC", value).replace("_", "")
    if _INTEGER.fullmatch(word):
        return int(word)
    if not _NUMBER.fullmatch(word):
        raise Mismatch
    number = float(word)
    if not math.isfinite(number):
        raise Mismatch
    return number


def read_array(text: str, of: Type) -> list[object]:
    """An array's members, as JSON or between commas; ``Mismatch`` if one does not fit."""
    value = bare(text)
    if value.startswith("["):
        members = _json(value, list)
        written = [member if isinstance(member, str) else orjson.dumps(member).decode() for member in members]
    else:
        written = [word for word in map(str.strip, _SPLIT.split(value)) if word]
    return [coerce(text, Type(of.items or "string")) for text in written]


def _json(value: str, kind: type[_Read]) -> _Read:
    try:
        read = orjson.loads(value)
    except orjson.JSONDecodeError as error:
        raise Mismatch from error
    if not isinstance(read, kind):
        raise Mismatch
    return read


def _moment(value: str, kind: str) -> str:
    """Dates stay texts, as JSON has none; they are only checked."""
    word = unicodedata.normalize("NFKC", value)
    try:
        if kind == "date":
            datetime.date.fromisoformat(word)
        else:
            datetime.datetime.fromisoformat(word)
    except ValueError as error:
        raise Mismatch from error
    return word
