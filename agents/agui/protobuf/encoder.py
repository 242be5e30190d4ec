"""Pure encoder of wire events as framed protobuf messages."""

from collections.abc import Mapping
from typing import cast

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.struct_pb2 import NULL_VALUE, Struct, Value
from pydantic import JsonValue

from agents.agui.protobuf import events_pb2
from agents.events import WireEvent
from core.json_access import as_list, as_object, as_text

MEDIA_TYPE = "application/vnd.ag-ui.event+proto"
_EVENT = GetMessageClass(events_pb2.DESCRIPTOR.message_types_by_name["Event"])
_BASE_FIELDS = ("type", "timestamp", "rawEvent", "metadata")
# JSON tells their variants apart by `type`, protobuf by the arm that is set.
_VARIANTS = ("ContentPart", "Source")
_LENGTH_BYTES = 4


def encode(event: WireEvent) -> bytes:
    """Encode an event for the stock decoder: length in 4 bytes, big-endian, then the message.

    Fields that the protobuf schema lacks are left out, as by the stock encoder.
    """
    kind = as_text(event["type"])
    arm = cast(FieldDescriptor, _EVENT.DESCRIPTOR.fields_by_name[kind.lower()])
    fields = {name: value for name, value in event.items() if name not in _BASE_FIELDS}
    base = {name: event[name] for name in _BASE_FIELDS if name in event}
    message = _EVENT()
    _set(message, arm, {**fields, "baseEvent": base})
    encoded = message.SerializeToString(deterministic=True)
    return len(encoded).to_bytes(_LENGTH_BYTES, "big") + encoded


def _fill(message: Message, values: Mapping[str, JsonValue]) -> None:
    # The stubs have two types for the same descriptor.
    described = cast(Descriptor, message.DESCRIPTOR)
    fields = described.fields_by_camelcase_name
    for name, value in _shaped(described, values).items():
        if name in fields:
            _set(message, fields[name], value)


def _shaped(described: Descriptor, values: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    """The fields as the protobuf schema splits them."""
    if described.name in _VARIANTS:
        return {as_text(values["type"]): dict(values)}
    fields = described.fields_by_camelcase_name
    if "outcome" in fields and "outcome" in values:
        outcome = as_object(values["outcome"])
        return {**values, **outcome, "outcome": outcome["type"]}
    content = values.get("content")
    if "contentParts" in fields and isinstance(content, list):
        return {**values, "content": None, "contentParts": content}
    if "activityContent" in fields and isinstance(content, dict):
        return {**values, "content": None, "activityContent": content}
    return values


def _set(message: Message, field: FieldDescriptor, value: JsonValue) -> None:
    name = field.name
    kind = field.message_type
    if value is None and (kind is None or kind.full_name != Value.DESCRIPTOR.full_name):
        return
    if kind is None:
        _set_scalar(message, field, value)
    elif field.is_repeated:
        for item in as_list(value):
            _fill(getattr(message, name).add(), as_object(item))
    elif kind.full_name == Value.DESCRIPTOR.full_name:
        _fill_value(getattr(message, name), value)
    else:
        inner = cast(Message, getattr(message, name))
        # Set even if empty.
        inner.SetInParent()
        if isinstance(inner, Struct):
            _fill_struct(inner, as_object(value))
        else:
            _fill(inner, as_object(value))


def _set_scalar(message: Message, field: FieldDescriptor, value: JsonValue) -> None:
    if field.is_repeated:
        getattr(message, field.name).extend(as_list(value))
    elif field.enum_type is not None:
        number = field.enum_type.values_by_name[as_text(value).upper()].number
        setattr(message, field.name, number)
    else:
        setattr(message, field.name, value)


def _fill_value(target: Value, value: JsonValue) -> None:
    match value:
        case None:
            target.null_value = NULL_VALUE
        case bool():
            target.bool_value = value
        case int() | float():
            target.number_value = value
        case str():
            target.string_value = value
        case list():
            target.list_value.SetInParent()
            for item in value:
                _fill_value(target.list_value.values.add(), item)
        case dict():
            target.struct_value.SetInParent()
            _fill_struct(target.struct_value, value)


def _fill_struct(target: Struct, fields: Mapping[str, JsonValue]) -> None:
    for key, value in fields.items():
        _fill_value(target.fields[key], value)
