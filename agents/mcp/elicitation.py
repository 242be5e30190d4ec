"""Questions of servers to a person, within bounds, and the answers to them.

What a server sends is foreign data: of a form's schema only what the protocol has for forms is kept, written anew.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Literal
from urllib.parse import urlsplit

from pydantic import JsonValue

from core.json_access import as_list, as_object, as_text

Action = Literal["accept", "decline", "cancel"]
ACTIONS: tuple[Action, ...] = ("accept", "decline", "cancel")
LONGEST_MESSAGE = 2000
_MOST_FIELDS, _MOST_CHOICES = 20, 100
_LONGEST_NAME, _LONGEST_TITLE, _LONGEST_HINT, _LONGEST_CHOICE = 100, 200, 500, 200
_LONGEST_TEXT = 10_000
_LONGEST_SCHEMA = 16_384
_LONGEST_URL = 2000
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
_FORMATS = frozenset({"email", "uri", "date", "date-time"})
_Rule = dict[str, JsonValue]


class UnusableQuestion(ValueError):
    """The question is malformed or over a limit; the message, which is ours, goes back to the server."""


@dataclass(frozen=True, slots=True)
class Elicitation:
    """A question: a form of a flat ``schema``, or, where ``url`` is set, a page to visit."""

    message: str
    schema: dict[str, JsonValue]
    url: str = ""

    def to_json(self) -> dict[str, JsonValue]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: JsonValue) -> "Elicitation":
        fields = as_object(value)
        return cls(as_text(fields.get("message")), as_object(fields.get("schema")), as_text(fields.get("url")))

    @property
    def answer_schema(self) -> dict[str, JsonValue]:
        """JSON Schema of an answer: what the person does, and the form's content where they accept."""
        action: _Rule = {"type": "string", "enum": list(ACTIONS)}
        properties: _Rule = {"action": action} if self.url else {"action": action, "content": self.schema}
        return {"type": "object", "properties": properties, "required": ["action"], "additionalProperties": False}


@dataclass(frozen=True, slots=True)
class ElicitationAnswer:
    """What a person did with a question; ``content`` are the values of an accepted form."""

    action: Action
    content: dict[str, JsonValue] | None = None

    def to_json(self) -> dict[str, JsonValue]:
        """The protocol's shape."""
        return {"action": self.action} if self.content is None else {"action": self.action, "content": self.content}


def read_answer(value: JsonValue) -> ElicitationAnswer:
    """An answer that fits its question's schema; without content unless it is an accepted form."""
    fields = as_object(value)
    word = fields.get("action")
    action: Action = "accept" if word == "accept" else "decline" if word == "decline" else "cancel"
    content = fields.get("content")
    return ElicitationAnswer(action, content if action == "accept" and isinstance(content, dict) else None)


def read_elicitation(params: Mapping[str, JsonValue]) -> Elicitation:
    """The question of the protocol's parameters; raises ``UnusableQuestion``."""
    message = as_text(params.get("message"))[:LONGEST_MESSAGE]
    if params.get("mode") == "url":
        return Elicitation(message, {}, _page(as_text(params.get("url"))))
    return Elicitation(message, _form(as_object(params.get("requestedSchema"))))


def _page(url: str) -> str:
    try:
        place = urlsplit(url)
        host = place.hostname or ""
        is_plain = url.isprintable() and url.isascii() and not any(mark in url for mark in " \\")
        is_named = bool(host) and place.username is None and place.password is None
    except ValueError:
        raise UnusableQuestion("The URL can't be read.") from None
    is_safe = place.scheme == "https" or (place.scheme == "http" and host in _LOCAL)
    if not (is_plain and is_named and is_safe and len(url) <= _LONGEST_URL):
        raise UnusableQuestion("The URL must be one of https without credentials, in ASCII.")
    return url


def _form(schema: _Rule) -> _Rule:
    properties = as_object(schema.get("properties"))
    if schema.get("type") != "object" or len(properties) > _MOST_FIELDS:
        raise UnusableQuestion(f"The schema must be an object of at most {_MOST_FIELDS} fields.")
    fields: _Rule = {name: _field(name, as_object(rule)) for name, rule in properties.items()}
    required: list[JsonValue] = [name for name in as_list(schema.get("required")) if name in fields]
    form: _Rule = {"type": "object", "properties": fields, "required": required, "additionalProperties": False}
    if len(json.dumps(form)) > _LONGEST_SCHEMA:
        raise UnusableQuestion(f"The schema is longer than {_LONGEST_SCHEMA} characters.")
    return form


def _field(name: str, rule: _Rule) -> _Rule:
    build = _FIELDS.get(as_text(rule.get("type")))
    if build is None or not 0 < len(name) <= _LONGEST_NAME:
        raise UnusableQuestion("Each field must have a name and be a text, a number, a truth value or a choice.")
    field = build(rule)
    for keyword, most in (("title", _LONGEST_TITLE), ("description", _LONGEST_HINT)):
        if text := as_text(rule.get(keyword)):
            field[keyword] = text[:most]
    if isinstance(default := rule.get("default"), str | int | float | bool) and len(str(default)) <= _LONGEST_TITLE:
        field["default"] = default
    return field


def _text(rule: _Rule) -> _Rule:
    if "enum" in rule or "oneOf" in rule:
        return {"type": "string", **_choices(rule)}
    field: _Rule = {"type": "string", "maxLength": min(_length(rule, "maxLength") or _LONGEST_TEXT, _LONGEST_TEXT)}
    if least := _length(rule, "minLength"):
        field["minLength"] = min(least, _LONGEST_TEXT)
    if rule.get("format") in _FORMATS:
        field["format"] = rule["format"]
    return field


def _number(rule: _Rule) -> _Rule:
    field: _Rule = {"type": rule["type"]}
    for keyword in ("minimum", "maximum"):
        bound = rule.get(keyword)
        if isinstance(bound, int | float) and not isinstance(bound, bool) and isfinite(bound):
            field[keyword] = bound
    return field


def _truth(rule: _Rule) -> _Rule:
    return {"type": "boolean"}


def _several(rule: _Rule) -> _Rule:
    field: _Rule = {"type": "array", "items": {"type": "string", **_choices(as_object(rule.get("items")))}}
    most = _length(rule, "maxItems") or _MOST_CHOICES
    return {**field, "minItems": _length(rule, "minItems"), "maxItems": min(most, _MOST_CHOICES), "uniqueItems": True}


_FIELDS: dict[str, Callable[[_Rule], _Rule]] = {
    "string": _text,
    "number": _number,
    "integer": _number,
    "boolean": _truth,
    "array": _several,
}


def _choices(rule: _Rule) -> _Rule:
    """The values to choose from, with their titles where they have some."""
    titled = [as_object(choice) for choice in as_list(rule.get("oneOf") or rule.get("anyOf"))]
    values: list[JsonValue] = [choice.get("const") for choice in titled] or list(as_list(rule.get("enum")))
    titles = [choice.get("title") for choice in titled] or list(as_list(rule.get("enumNames")))
    is_sound = all(isinstance(value, str) and len(value) <= _LONGEST_CHOICE for value in values)
    if not is_sound or not 0 < len(values) <= _MOST_CHOICES:
        raise UnusableQuestion(f"A choice must have between 1 and {_MOST_CHOICES} short texts.")
    labels: list[JsonValue] = [as_text(title)[:_LONGEST_TITLE] for title in titles]
    return {"enum": values, "enumNames": labels} if len(labels) == len(values) else {"enum": values}


def _length(rule: _Rule, keyword: str) -> int:
    value = rule.get(keyword)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
