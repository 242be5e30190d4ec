"""The filters of templates, by name.

A new filter is a function, one that checks its arguments, and a line in ``FILTERS``.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any, cast

from pydantic import JsonValue

from core.time_zones import find_zone
from rules.language.conditions.comparison import is_number, kind_of, parse_time
from rules.language.errors import InvalidTemplate, TemplateFailure

LONGEST_OUTPUT = 65_536
"""Bytes of all that a template's rendering gives, in UTF-8."""

_MOST_TRUNCATED = 10_000
_MOST_PLACES = 10
# As many digits as the largest float has before its point, and more.
_DIGITS = 1_600
_DIRECTIVE = re.compile(r"%(.?)", re.DOTALL)
_DIRECTIVES = frozenset("YmdHMSzZjabAByIp%")

Argument = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter.

    Attributes:
        prepare: checks the arguments and gives what ``apply`` takes; raises ``InvalidTemplate``.
        apply: the value in, the value out; raises ``TemplateFailure``.
    """

    prepare: Callable[[Sequence[Argument]], Any]
    apply: Callable[[JsonValue, Any], JsonValue]


def write_text(value: JsonValue) -> str:
    """A value inside a text: text as it is, all else as JSON.

    Raises:
        TemplateFailure: it is nested too deep, holds NaN, or a number of thousands of digits.
    """
    return value if isinstance(value, str) else _write_json(value, None)


def _write_json(value: JsonValue, _: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (ValueError, RecursionError) as error:
        words = "the value can't be written: it is nested too deep, or a number is not finite or too long"
        raise TemplateFailure(words, "无法写出该值：嵌套过深，或数字非有限或过长") from error


def _none(arguments: Sequence[Argument]) -> None:
    if arguments:
        raise InvalidTemplate("this filter takes no argument", "该过滤器没有参数")


def _single(arguments: Sequence[Argument]) -> Argument:
    if len(arguments) != 1:
        raise InvalidTemplate(
            'this filter takes an argument, such as default:"-"', '该过滤器需要一个参数，例如 default:"-"'
        )
    return arguments[0]


def _whole_number(least: int, most: int, fallback: int | None) -> Callable[[Sequence[Argument]], int]:
    def prepare(arguments: Sequence[Argument]) -> int:
        if not arguments and fallback is not None:
            return fallback
        number = _single(arguments)
        if not isinstance(number, int) or isinstance(number, bool) or not least <= number <= most:
            words = f"the argument of this filter is a whole number from {least} to {most}"
            raise InvalidTemplate(words, f"该过滤器的参数应为 {least} 至 {most} 的整数")
        return number

    return prepare


def _separator(arguments: Sequence[Argument]) -> str:
    text = _single(arguments) if arguments else ", "
    if not isinstance(text, str):
        raise InvalidTemplate(
            'the argument of join is a text, such as join:", "', 'join 的参数应为文本，例如 join:", "'
        )
    return text


def _date_format(arguments: Sequence[Argument]) -> tuple[str, Any]:
    if not 1 <= len(arguments) <= 2 or not all(isinstance(argument, str) for argument in arguments):
        raise InvalidTemplate(
            'date takes a format and, if need be, a time zone: date:"%Y-%m-%d":"Asia/Shanghai"',
            'date 需要格式，可另加时区：date:"%Y-%m-%d":"Asia/Shanghai"',
        )
    form, *zones = cast(Sequence[str], arguments)
    if not form or any(letter not in _DIRECTIVES for letter in _DIRECTIVE.findall(form)):
        allowed = " ".join(f"%{letter}" for letter in sorted(_DIRECTIVES))
        raise InvalidTemplate(f"the format of date may hold {allowed}", f"date 的格式可用：{allowed}")
    zone = find_zone(zones[0]) if zones else None
    if zones and zone is None:
        words = f"there is no time zone {zones[0][:60]}; use a name such as Asia/Shanghai"
        raise InvalidTemplate(words, f"没有时区 {zones[0][:60]}；请使用例如 Asia/Shanghai 的名称")
    return form, zone


def _text_of(value: JsonValue, name: str) -> str:
    if not isinstance(value, str):
        kind = kind_of(value)
        raise TemplateFailure(f"{name} takes a text, and the event has a {kind}", f"{name} 需要文本，而事件中是 {kind}")
    return value


def _on_text(name: str, change: Callable[[str], str]) -> Filter:
    return Filter(_none, lambda value, _: change(_text_of(value, name)))


def _default(value: JsonValue, argument: Argument) -> JsonValue:
    return argument if value is None else value


def _truncate(value: JsonValue, most: int) -> str:
    text = write_text(value)
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def _round(value: JsonValue, places: int) -> JsonValue:
    if not is_number(value):
        raise TemplateFailure("round takes a number", "round 需要数字")
    number = cast(float, value)
    if isinstance(number, int):
        return number
    with localcontext() as context:
        context.prec = _DIGITS
        exact = Decimal(repr(number)).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
    return float(exact) if places else int(exact)


def _date(value: JsonValue, argument: tuple[str, Any]) -> str:
    form, zone = argument
    moment = parse_time(value) if isinstance(value, str) else None
    if moment is None:
        words = "date takes a time with its zone, such as 2026-03-17T09:00:00Z"
        raise TemplateFailure(words, "date 需要带时区的时间，例如 2026-03-17T09:00:00Z")
    try:
        return _format(moment.astimezone(zone) if zone else moment, form)
    except (OverflowError, ValueError) as error:
        raise TemplateFailure("the time is outside the years 1 to 9999", "时间超出公元 1 年到 9999 年") from error


def _format(moment: datetime, form: str) -> str:
    # A year of fewer than four digits is not padded on every system.
    return moment.strftime(form.replace("%Y", f"{moment.year:04d}"))


def _join(value: JsonValue, separator: str) -> str:
    if not isinstance(value, list):
        raise TemplateFailure("join takes a list", "join 需要列表")
    return separator.join(_parts(value, separator))


def _parts(items: Sequence[JsonValue], separator: str) -> list[str]:
    parts: list[str] = []
    length = 0
    for item in items:
        parts.append(write_text(item))
        length += len(parts[-1]) + len(separator)
        if length > LONGEST_OUTPUT + len(separator):
            raise too_long()
    return parts


def too_long() -> TemplateFailure:
    """The error of an output over its limit."""
    words = f"the text has more than {LONGEST_OUTPUT // 1024} KB; shorten values with truncate:200"
    return TemplateFailure(words, f"文本超过 {LONGEST_OUTPUT // 1024} KB；请用 truncate:200 缩短")


FILTERS: Mapping[str, Filter] = {
    "default": Filter(_single, _default),
    "upper": _on_text("upper", str.upper),
    "lower": _on_text("lower", str.lower),
    "trim": _on_text("trim", str.strip),
    "truncate": Filter(_whole_number(1, _MOST_TRUNCATED, None), _truncate),
    "round": Filter(_whole_number(0, _MOST_PLACES, 0), _round),
    "date": Filter(_date_format, _date),
    "json": Filter(_none, _write_json),
    "join": Filter(_separator, _join),
}
