"""Inputs of a skill: from the request, from the model, else defaults."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from agents.tools.json_schema import schema_fault
from core.json_access import as_list, as_object


@dataclass(frozen=True, slots=True)
class SkillInputs:
    """The inputs of a skill, with names of missing required ones and faults in the model's inputs.

    An input that the request gave wrongly counts as missing.
    """

    values: dict[str, JsonValue]
    missing: tuple[str, ...]
    faults: tuple[str, ...]


def resolve_inputs(
    schema: dict[str, JsonValue], requested: Mapping[str, JsonValue], call_inputs: Mapping[str, JsonValue]
) -> SkillInputs:
    """Resolve the inputs of a skill.

    ``requested`` come from the request and take precedence; undeclared names in them are ignored.
    ``call_inputs`` come from the model or a person.
    """
    declared = {
        name: as_object(property_schema) for name, property_schema in as_object(schema.get("properties")).items()
    }
    required = [name for name in as_list(schema.get("required")) if isinstance(name, str)]
    values: dict[str, JsonValue] = {}
    missing: list[str] = []
    faults = [f"inputs.{name[:100]}: not declared" for name in call_inputs if name not in declared]
    for name, property_schema in declared.items():
        from_request, from_call = requested.get(name), call_inputs.get(name)
        if from_request is not None and not schema_fault(property_schema, from_request):
            values[name] = from_request
        elif from_call is not None and (fault := schema_fault(property_schema, from_call)):
            faults.append(f"inputs.{name}: {fault}")
        elif from_call is not None:
            values[name] = from_call
        elif from_request is not None or (name in required and property_schema.get("default") is None):
            missing.append(name)
        elif property_schema.get("default") is not None:
            values[name] = property_schema["default"]
    return SkillInputs(values, tuple(missing), tuple(faults))


def inputs_for_skill(
    names: Sequence[str], schema: dict[str, JsonValue], inputs: Mapping[str, JsonValue]
) -> dict[str, JsonValue]:
    """The part of a request's ``skill_inputs`` for one skill.

    ``inputs`` are by input name, or nested under one of the skill's ``names``; the first match counts.
    """
    declared = as_object(schema.get("properties"))
    for name in names:
        if isinstance(own := inputs.get(name), dict) and name not in declared:
            return {**inputs, **own}
    return dict(inputs)


def missing_inputs_schema(schema: dict[str, JsonValue], missing: tuple[str, ...]) -> dict[str, JsonValue]:
    """The JSON Schema of the inputs to ask a person for."""
    declared = as_object(schema.get("properties"))
    properties: dict[str, JsonValue] = {name: declared[name] for name in missing}
    return {
        "type": "object",
        "properties": properties,
        "required": list[JsonValue](missing),
        "additionalProperties": False,
    }
