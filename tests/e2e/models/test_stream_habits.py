"""Endpoints that stream what differs from the protocol, asked by the real product."""

import pytest

from tests.fixtures.http.client import Api, unique
from tests.fixtures.llm.model_server import ModelServer
from tests.fixtures.llm.stream_cases import CALL_CASES, STRING_CASES, THOUGHT_CASES, WRITTEN_CASES, StreamCase
from tests.fixtures.product.server import Server
from tests.fixtures.runs.agent_runs import GUIDE, text_of, verified_run

TORN = ("torn-index", "torn-name", "function-call", "marked-name")


@pytest.fixture
def user(llm_product: Server) -> Api:
    return llm_product.person()


@pytest.fixture
def props(user: Api) -> dict:
    kb_id = user.create_kb()
    user.ingest(kb_id, "relay.md", GUIDE)
    return {"forwarded_props": {"knowledge_base_ids": [kb_id]}}


@pytest.mark.parametrize("case", [c for c in CALL_CASES if c.name in TORN], ids=lambda case: case.name)
def test_call_that_came_torn_runs_and_is_answered_from(user: Api, props: dict, case: StreamCase):
    events = verified_run(user, f"Which port? #{case.name}", **props)

    assert [e["toolCallName"] for e in events if e["type"] == "TOOL_CALL_START"] == ["search_knowledge_base"]
    assert "".join(e["delta"] for e in events if e["type"] == "TOOL_CALL_ARGS") == '{"query": "port"}'
    assert text_of(events) == "The port is 8000 [1]."


def run_with(product: Server, scripted_llm: ModelServer, case: StreamCase) -> list[dict]:
    """A run that a new model with the provider of the case answers."""
    admin = product.admin()
    fields = {"provider": case.provider, "base_url": scripted_llm.base_url, "model_id": case.name, "api_key": "sk-1"}
    model = admin.post("/admin/models", {"name": unique("model"), **fields})
    try:
        return verified_run(product.person(), "Hi!", forwarded_props={"model_id": model["id"]})
    finally:
        admin.delete(f"/admin/models/{model['id']}")


@pytest.mark.parametrize("case", THOUGHT_CASES, ids=lambda case: case.name)
def test_thoughts_in_the_text_are_reasoning(llm_product: Server, scripted_llm: ModelServer, case: StreamCase):
    events = run_with(llm_product, scripted_llm, case)

    thoughts = "".join(e["delta"] for e in events if e["type"] == "REASONING_MESSAGE_CONTENT")
    assert (thoughts, text_of(events)) == (case.thoughts, case.text)


HALVES = ("split-character", "half-character")


@pytest.mark.parametrize("case", [c for c in STRING_CASES if c.name in HALVES], ids=lambda case: case.name)
def test_character_that_came_in_halves_is_read_or_replaced(user: Api, props: dict, case: StreamCase):
    events = verified_run(user, f"Which port? #{case.name}", **props)

    assert events[-1]["type"] == "RUN_FINISHED", events[-1]
    assert "".join(e["delta"] for e in events if e["type"] == "REASONING_MESSAGE_CONTENT") == case.thoughts
    assert text_of(events) == f"{case.text}The port is 8000 [1]."


WRITTEN = ("written-json", "written-fenced-json", "written-function")
ORDINARY = ("json-answer", "call-as-example")


@pytest.mark.parametrize("case", [c for c in WRITTEN_CASES if c.name in WRITTEN], ids=lambda case: case.name)
def test_call_in_the_text_runs_and_is_not_shown(user: Api, props: dict, case: StreamCase):
    events = verified_run(user, f"Which port? #{case.name}", **props)

    assert [e["toolCallName"] for e in events if e["type"] == "TOOL_CALL_START"] == ["search_knowledge_base"]
    assert text_of(events) == f"{case.text}The port is 8000 [1]."


@pytest.mark.parametrize("case", [c for c in WRITTEN_CASES if c.name in ORDINARY], ids=lambda case: case.name)
def test_answer_that_is_no_call_is_shown_whole(user: Api, props: dict, case: StreamCase):
    events = verified_run(user, f"Which port? #{case.name}", **props)

    assert not [e for e in events if e["type"] == "TOOL_CALL_START"]
    assert text_of(events) == case.text
