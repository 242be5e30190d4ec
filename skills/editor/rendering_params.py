"""Writes an input as an item of a list, in the form that the grammar reads."""

from collections.abc import Mapping

import orjson

from skills.schema import Param

_WORDS = {"default": "default", "enum": "enum", "example": "example"}
_WORDS_ZH = {"default": "默认", "enum": "枚举", "example": "示例"}
_EXACT = 2**53
_UNMARKED = "\\u0060"


def written(param: Param, *, chinese: bool) -> str:
    """An input on a line, or more where its description has more."""
    kind = f"array<{param.items}>" if param.type == "array" and param.items else param.type
    told = f": {param.description}" if param.description else ""
    attributes = [kind, _required(param.required, chinese), *_values(param, chinese)]
    return f"`{param.name}` ({', '.join(attributes)}){told}"


def _values(param: Param, chinese: bool) -> list[str]:
    words: Mapping[str, str] = _WORDS_ZH if chinese else _WORDS
    attributes: list[str] = []
    if param.default is not None:
        attributes.append(f"{words['default']}: {_value(param.default)}")
    if param.enum:
        # The last bar tells a single value from a list between commas.
        values = "|".join(_value(one) for one in param.enum)
        attributes.append(f"{words['enum']}: {values}{'' if len(param.enum) > 1 else '|'}")
    if param.example is not None:
        attributes.append(f"{words['example']}: {_value(param.example)}")
    bounds = {"min": param.min, "max": param.max}
    attributes += (f"{key} {_value(one)}" for key, one in bounds.items() if one is not None)
    if param.pattern is not None:
        attributes.append(f"pattern: {_text(param.pattern)}")
    return attributes


def _required(required: bool, chinese: bool) -> str:
    if chinese:
        return "必填" if required else "可选"
    return "required" if required else "optional"


def _value(value: object) -> str:
    """A value so that it reads back: numbers bare, all else in marks."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        return str(int(value))
    if isinstance(value, str):
        return _text(value)
    try:
        if isinstance(value, int | float):
            return repr(value)
        # A code mark would end the value: JSON can spell it.
        return f"`{orjson.dumps(value).decode().replace('`', _UNMARKED)}`"
    except (TypeError, ValueError):
        # No file can say it, and this is read as none.
        return "``"


def _text(text: str) -> str:
    """A text in the first marks that do not stand in it, and that keep blanks at its ends."""
    if "`" not in text and text == text.strip() and text:
        return f"`{text}`"
    return f'"{text}"' if '"' not in text else f"'{text}'"
