"""Schemas of tools in the form that every endpoint takes, judged by the strict endpoint of the fixtures."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.llm.anthropic import AnthropicModel
from agents.llm.base import ModelMessage, ToolCall, ToolSchemaRefused, ToolSpec
from agents.llm.config import Traits
from agents.llm.openai import OpenAIModel, request_body
from agents.llm.tool_arguments import canonical_arguments, replayable_arguments
from agents.llm.tool_schemas import SchemaFault, normal_schema
from agents.llm.tool_support import REFUSAL_SECONDS, ToolSupport
from agents.tools.json_schema import schema_fault
from tests.agents.llm.helpers import ASK, collect, endpoint, events_of, text_of
from tests.fixtures.llm.strict_endpoint import problems_of_schema

keywords = st.sampled_from(
    [
        "type",
        "properties",
        "required",
        "items",
        "anyOf",
        "allOf",
        "oneOf",
        "not",
        "$ref",
        "$defs",
        "enum",
        "const",
        "additionalProperties",
        "pattern",
        "minimum",
        "format",
        "description",
        "if",
        "then",
        "else",
        "prefixItems",
        "minLength",
        "uniqueItems",
        "default",
        "x-own",
    ]
)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from(["object", "array", "string", "any", "#", "#/$defs/a", "("]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keywords | st.sampled_from("ab"), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(keywords, values, max_size=6))
def test_every_schema_is_brought_into_a_form_that_strict_endpoints_take_or_has_a_fault(schema: dict[str, Any]):
    for protocol in ("openai", "anthropic", "gemini"):
        normal = normal_schema(schema, protocol)
        if isinstance(normal, SchemaFault):
            continue
        assert list(problems_of_schema(normal)) == []
        assert normal_schema(normal, protocol) == normal or "description" in normal


PATH = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
URL = {
    "type": "object",
    "properties": {"url": {"type": "string"}, "path": {"type": "integer"}},
    "required": ["url", "path"],
}


def test_well_formed_schema_stays_as_it_is():
    schema = {**PATH, "additionalProperties": False, "description": "Where."}
    for protocol in ("openai", "anthropic"):
        assert normal_schema(schema, protocol) == schema


def test_alternatives_on_top_become_one_object_whose_description_tells_them():
    normal = normal_schema({"oneOf": [PATH, URL]})
    assert isinstance(normal, dict)
    properties = normal["properties"]
    assert properties == {"path": {"anyOf": [{"type": "string"}, {"type": "integer"}]}, "url": {"type": "string"}}
    assert normal["required"] == ["path"]
    assert "oneOf" in str(normal["description"])
    # The tool's own schema still decides about a call.
    assert schema_fault({"oneOf": [PATH, URL]}, {}) != ""


def test_local_references_are_written_out_and_one_that_contains_itself_ends():
    tree = {"type": "object", "properties": {"left": {"$ref": "#/$defs/Tree"}, "name": {"type": "string"}}}
    normal = normal_schema({"$ref": "#/$defs/Tree", "$defs": {"Tree": tree}})
    assert "$ref" not in json.dumps(normal)
    assert normal["properties"]["left"] == {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    ("schema", "fault"),
    [
        ({"type": "array"}, SchemaFault.NOT_AN_OBJECT),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, SchemaFault.NOT_AN_OBJECT),
        ({"properties": {"a": {"$ref": "other.json#/a"}}}, SchemaFault.OUTSIDE_REFERENCE),
        ({"properties": {"a": {"$ref": "#/$defs/a"}}}, SchemaFault.LOST_REFERENCE),
        ({"properties": {"a": {"enum": ["x" * 70_000]}}}, SchemaFault.TOO_LARGE),
    ],
)
def test_schema_that_no_endpoint_takes_has_a_fault(schema: dict[str, Any], fault: SchemaFault):
    assert normal_schema(schema) is fault


def test_references_that_multiply_end_at_the_bound():
    doubled = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}
    schema = {"properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": {**doubled, "d40": {"type": "string"}}}
    assert normal_schema(schema) is SchemaFault.TOO_LARGE


def test_property_names_that_anthropic_refuses_are_a_fault_there_alone():
    schema = {"type": "object", "properties": {"路径": {"type": "string"}}}
    assert normal_schema(schema, "anthropic") is SchemaFault.PROPERTY_NAMES
    assert normal_schema(schema) == schema


FOREIGN = ToolSpec("paint", "Paints.", PATH, is_foreign=True)
OWN = ToolSpec("clock", "Tells the time.", {"type": "object", "properties": {}})
COMPLAINTS = [
    "400-Invalid schema for function 'paint': None is not of type 'array'. unsupported",
    "400-body.tools.0.function.parameters Extra inputs are not permitted: extra_forbidden",
    "422-tools[0].function.parameters: unknown field not supported",
    "400-Unsupported JSON schema in tool: $ref not supported by tool use",
]


@pytest.mark.anyio
@pytest.mark.parametrize("answer", COMPLAINTS)
async def test_complaint_about_a_schema_is_never_learnt_as_having_no_tools(server, client, answer):
    adapter = OpenAIModel(endpoint(server, f"refused-{answer}", tools="auto"), client)
    assert text_of(await events_of(adapter, ASK, [OWN, FOREIGN])) == "Hello at last."

    sent = ["paint" in str(request.body.get("tools")) for request in server.requests]
    assert sent == [True, True, False]
    plain = server.requests[1].body["tools"][1]["function"]
    assert plain["parameters"] == {"type": "object", "properties": {}}
    assert '"path"' in plain["description"]
    assert not adapter.tool_support.is_refused


@pytest.mark.anyio
async def test_complaint_about_a_schema_is_named_where_tools_must_be_native(server, client):
    with pytest.raises(ToolSchemaRefused) as caught:
        await collect(server, client, f"refused-{COMPLAINTS[0]}", tools=[OWN, FOREIGN])
    assert caught.value.details["fault"] == "tool_schema_refused"


@pytest.mark.anyio
async def test_endpoint_without_tools_is_learnt_although_foreign_tools_were_offered(server, client):
    model = "refused-400-this model does not support tools"
    adapter = OpenAIModel(endpoint(server, model, tools="auto"), client)
    for _ in range(2):
        await events_of(adapter, ASK, [OWN, FOREIGN])
    assert ["tools" in request.body for request in server.requests] == [True, True, False, False]
    assert adapter.tool_support.refused_until is not None


def test_refused_tools_are_forgotten_after_a_while():
    now = 0.0
    support = ToolSupport(lambda: now)
    assert (support.is_refused, support.refused_until) == (False, None)
    support.note_refusal()
    now = REFUSAL_SECONDS - 1
    assert support.is_refused
    now = REFUSAL_SECONDS
    assert (support.is_refused, support.refused_until) == (False, None)


ARGUMENTS = [
    ("", "{}", "{}"),
    (" ", "{}", "{}"),
    ("null", "{}", "{}"),
    ('{"a": 1}', '{"a": 1}', '{"a": 1}'),
    ('"{\\"a\\": 1}"', '{"a": 1}', '{"a": 1}'),
    ('{"query":"turb', '{"query":"turb', "{}"),
    ("[1]", "[1]", "{}"),
    ('"turbine"', '"turbine"', "{}"),
    ("false", "false", "{}"),
]


@pytest.mark.parametrize(("text", "canonical", "replayed"), ARGUMENTS)
def test_arguments_are_run_as_they_were_meant_and_repeated_as_an_object(text: str, canonical: str, replayed: str):
    assert canonical_arguments(text) == canonical
    assert replayable_arguments(text) == replayed


@given(st.text())
def test_what_is_repeated_is_always_an_object(text: str):
    assert isinstance(json.loads(replayable_arguments(text)), dict)
    assert canonical_arguments(canonical_arguments(text)) == canonical_arguments(text)


@pytest.mark.anyio
async def test_earlier_calls_are_sent_with_names_and_arguments_that_endpoints_take(server, client):
    calls = (ToolCall("1", "delete everything!", '{"query":"turb'), ToolCall("2", "画", ""))
    history = [*ASK, ModelMessage("assistant", "", calls)]
    sent = request_body("m", history, (), Traits())["messages"][1]["tool_calls"]
    assert [call["function"]["arguments"] for call in sent] == ["{}", "{}"]
    assert all(
        call["function"]["name"].replace("_", "").isalnum() and call["function"]["name"].isascii() for call in sent
    )

    anthropic = AnthropicModel(endpoint(server, "x"), client)
    blocks = anthropic._call(history, ()).body["messages"][1]["content"]
    assert [block["input"] for block in blocks] == [{}, {}]
    assert [block["name"] for block in blocks] == [call["function"]["name"] for call in sent]
