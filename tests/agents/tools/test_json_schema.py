"""JSON Schemas of foreign tools: checked, and within bounds of time and size."""

from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest

from agents.tools.json_schema import schema_fault

TREE = {
    "$ref": "#/$defs/node",
    "$defs": {
        "node": {
            "properties": {"inner": {"items": {"$ref": "#/$defs/node"}}},
            "required": ["name"],
        }
    },
}
DOUBLED = {f"a{depth}": {"allOf": [{"$ref": f"#/$defs/a{depth + 1}"}] * 2} for depth in range(60)} | {
    "a60": {"type": "string"}
}
SLOW = "^(a+)+$"
LONG = "a" * 5000 + "!"


@pytest.mark.parametrize(
    ("schema", "value", "fault"),
    [
        ({"type": "object"}, [], "$: does not fit 'type'"),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "minimum": 2}, 1, "'minimum'"),
        ({"properties": {"to": {"pattern": "@"}}}, {"to": "x"}, "$.to: does not fit 'pattern'"),
        ({"properties": {"to": {"pattern": "@"}}}, {"to": "x@y"}, ""),
        ({"properties": {"a": {}}, "additionalProperties": False}, {"b": 1}, "additional"),
        ({"uniqueItems": True}, [{"a": 1}, {"a": 1}], "uniqueItems"),
        ({"enum": [1, 2]}, 3, "enum"),
        (TREE, {"name": "a", "inner": [{"name": "b"}]}, ""),
        (TREE, {"name": "a", "inner": [{}]}, "$.inner[0]: does not fit 'required'"),
    ],
)
def test_value_is_checked(schema: dict[str, Any], value: Any, fault: str):
    assert fault in schema_fault(schema, value)
    assert bool(fault) == bool(schema_fault(schema, value))


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"pattern": "("}, "x"),
        ({"type": 5}, "x"),
        ({"type": "port"}, "x"),
        ({"required": 5}, {}),
        ({"properties": []}, {}),
        ({"multipleOf": 0}, 3),
        ({"minimum": "a"}, 3),
        ({"$ref": 5}, 3),
        ({"$ref": "#/nowhere"}, 3),
        ({"$ref": "#"}, 3),
        ({"$id": 5}, 3),
    ],
    ids=str,
)
def test_schema_that_is_none_lets_everything_through(schema: dict[str, Any], value: Any):
    assert schema_fault(schema, value) == ""


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"pattern": SLOW}, LONG),
        ({"patternProperties": {SLOW: {}}, "additionalProperties": False}, {LONG: 1}),
        ({"patternProperties": {SLOW: {}}, "unevaluatedProperties": False}, {LONG: 1}),
        (
            {"items": {"$schema": "http://json-schema.org/draft-07/schema#", "pattern": SLOW}},
            [LONG],
        ),
        ({"$ref": "#/$defs/a0", "$defs": DOUBLED}, 1),
        ({"allOf": [{"type": "integer"}] * 20_000}, "x" * 200_000),
        ({"anyOf": [False] * 20_000}, ["x" * 200_000]),
        ({"uniqueItems": True}, [{"a": number} for number in range(20_000)]),
        ({"items": {"enum": list(range(20_000))}}, [*range(20_000, 40_000)]),
    ],
    ids=range(9),
)
@pytest.mark.timeout(60)
def test_schema_holds_nobody_up(schema: dict[str, Any], value: Any):
    # Any of them would take minutes, or years.
    schema_fault(schema, value)


def test_nothing_is_fetched_for_a_schema():
    asked: list[str] = []

    class Site(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"type": "integer"}')

    with HTTPServer(("127.0.0.1", 0), Site) as site:
        Thread(target=site.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{site.server_port}/schema"
        schemas: list[dict[str, Any]] = [
            {"$ref": address},
            {"$id": address, "$ref": "#/other"},
            {"properties": {"a": {"$id": address, "$ref": "other"}}},
            {"$dynamicRef": address},
        ]
        for schema in schemas:
            assert schema_fault(schema, {"a": "x"}) == ""
        site.shutdown()
    assert asked == []
