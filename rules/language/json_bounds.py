"""Bounds of JSON: checked where a definition holds it, and cut where it is shown."""

import json
import math
from collections.abc import Iterator, Mapping
from typing import cast

from core.text.sanitize import refuse_half_characters, refuse_nul
from core.types.errors import FieldValueError

MOST_BYTES = 65_536
MOST_DEPTH = 20
_MOST_BITS = 4096


def check_json(value: object) -> object:
    """The value, if it is small enough to be kept and to be written again.

    Raises:
        FieldValueError: more than 64 KB, nested deeper than 20 levels, a number that JSON can't spell or a text that no
            database can store.
    """
    left, depth, level = MOST_BYTES, 0, [value]
    while level:
        depth += 1
        if depth > MOST_DEPTH:
            raise FieldValueError(f"Nest at most {MOST_DEPTH} levels deep", f"最多嵌套 {MOST_DEPTH} 层")
        inner: list[object] = []
        for node in level:
            left -= _size(node)
            if left < 0:
                raise FieldValueError(f"Use at most {MOST_BYTES // 1024} KB", f"最多 {MOST_BYTES // 1024} KB")
            if isinstance(node, Mapping):
                fields = cast(Mapping[object, object], node)
                inner += [*fields.keys(), *fields.values()]
            elif isinstance(node, list):
                inner += cast(list[object], node)
        level = inner
    return value


def _size(node: object) -> int:
    if isinstance(node, str):
        return len(refuse_nul(refuse_half_characters(node)).encode()) + 2
    if isinstance(node, float) and not math.isfinite(node):
        raise FieldValueError("Use finite numbers", "请使用有限的数字")
    if isinstance(node, int) and node.bit_length() > _MOST_BITS:
        raise FieldValueError("Use numbers of at most 1,200 digits", "请使用不超过 1200 位的数字")
    return 4


def write_bounded(value: object, most: int) -> str:
    """A JSON value in at most ``most`` characters, with an ellipsis where something was left out.

    It takes any value: deep nesting is cut, and what JSON can't spell is described.
    """
    text = ""
    for token in _tokens(value, most, 0):
        text += token
        if len(text) > most:
            return f"{text[: most - 1]}…"
    return text


def _tokens(value: object, most: int, depth: int) -> Iterator[str]:
    if isinstance(value, Mapping):
        fields = cast(Mapping[object, object], value)
        yield "{" if depth < MOST_DEPTH else "{…"
        for place, (key, inner) in enumerate(fields.items() if depth < MOST_DEPTH else ()):
            yield f"{', ' if place else ''}{_scalar(str(key), most)}: "
            yield from _tokens(inner, most, depth + 1)
        yield "}"
    elif isinstance(value, list):
        yield "[" if depth < MOST_DEPTH else "[…"
        for place, inner in enumerate(cast(list[object], value) if depth < MOST_DEPTH else ()):
            if place:
                yield ", "
            yield from _tokens(inner, most, depth + 1)
        yield "]"
    else:
        yield _scalar(value, most)


def _scalar(value: object, most: int) -> str:
    if isinstance(value, str):
        # A character more shows that something was left out.
        return json.dumps(value[: most + 1].encode("utf-8", "replace").decode(), ensure_ascii=False)
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return f"a number of {value.bit_length()} bits"
    return json.dumps(value)
