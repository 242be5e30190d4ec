"""Questions of servers, brought within bounds."""

from typing import Any

import pytest

from agents.mcp.elicitation import Elicitation, UnusableQuestion, read_answer, read_elicitation


def form(properties: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"message": "?", "requestedSchema": {"type": "object", "properties": properties, **fields}}


def test_only_what_the_protocol_has_for_forms_is_kept_of_a_schema():
    question = read_elicitation(
        form(
            {
                "name": {"type": "string", "pattern": "(a+)+$", "minLength": 2, "$ref": "https://x.example/s", "title": "N" * 999},
                "mail": {"type": "string", "format": "email", "maxLength": 10**9},
                "count": {"type": "integer", "minimum": 1, "maximum": float("inf"), "default": 3},
                "sure": {"type": "boolean", "default": True},
                "colour": {"type": "string", "oneOf": [{"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}]},
                "tags": {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}, "minItems": 1},
            },
            required=["name", "nothing", 7],
            allOf=[{"not": {}}],
        )
    )  # fmt: skip
    assert question.schema == {
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 10_000, "minLength": 2, "title": "N" * 200},
            "mail": {"type": "string", "maxLength": 10_000, "format": "email"},
            "count": {"type": "integer", "minimum": 1, "default": 3},
            "sure": {"type": "boolean", "default": True},
            "colour": {"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"]},
            "tags": {
                "type": "array",
                "items": {"type": "string", "enum": ["a"], "enumNames": ["A"]},
                "minItems": 1,
                "maxItems": 100,
                "uniqueItems": True,
            },
        },
        "required": ["name"],
        "additionalProperties": False,
    }
    assert Elicitation.from_json(question.to_json()) == question
    assert question.answer_schema["properties"]["content"] == question.schema  # type: ignore[index,call-overload]


@pytest.mark.parametrize(
    "params",
    [
        {"message": "?"},
        {"message": "?", "requestedSchema": {"type": "array"}},
        form({"deep": {"type": "object", "properties": {"a": {"type": "string"}}}}),
        form({f"f{number}": {"type": "boolean"} for number in range(21)}),
        form({"": {"type": "string"}}),
        form({"choice": {"type": "string", "enum": []}}),
        form({"choice": {"type": "string", "enum": [{"a": 1}]}}),
        form({"choice": {"type": "string", "enum": ["x"] * 101}}),
        form({f"f{n}": {"type": "string", "enum": [f"{n}{m}" + "x" * 150 for m in range(100)]} for n in range(9)}),
        form({"list": {"type": "array", "items": {"type": "object"}}}),
        *(
            {"mode": "url", "message": "?", "url": url}
            for url in (
                "", "javascript:alert(1)", "http://accounts.example.com/", "https://user:pass@example.com/",
                "https://example.com/\u202ex", "https://exämple.com/", "file:///etc/passwd", "https:///x",
                "https://example.com/" + "x" * 2000, "https://example.com\\@evil.example/", "https://[::1",
            )
        ),
    ],
)  # fmt: skip
def test_hostile_question_is_refused(params: dict[str, Any]):
    with pytest.raises(UnusableQuestion):
        read_elicitation(params)


@pytest.mark.parametrize(
    "url", ["https://accounts.example.com/a?b=c#d", "http://localhost:8080/sign-in", "http://127.0.0.1/"]
)
def test_page_is_kept_as_it_is(url: str):
    question = read_elicitation({"mode": "url", "message": "m" * 5000, "url": url})
    assert (question.url, question.schema, len(question.message)) == (url, {}, 2000)
    assert "content" not in question.answer_schema["properties"]  # type: ignore[operator]


def test_answer_has_content_only_where_a_form_is_accepted():
    assert read_answer({"action": "accept", "content": {"a": 1}}).to_json() == {"action": "accept", "content": {"a": 1}}
    assert read_answer({"action": "decline", "content": {"a": 1}}).to_json() == {"action": "decline"}
    assert read_answer({"action": "whatever"}).to_json() == {"action": "cancel"}
