"""Models behind the presets of providers, asked by the real product."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.fixtures.http.client import Api, eventually, unique
from tests.fixtures.llm.model_server import ModelServer
from tests.fixtures.product.server import Server
from tests.fixtures.runs.agent_runs import GuideKb, text_of, verified_run

KEY = "sk-of-a-provider-4712"


@pytest.fixture
def admin(llm_product: Server) -> Iterator[Api]:
    """The administrator, who leaves no models behind."""
    caller = llm_product.admin()
    yield caller
    for model in caller.get("/admin/models")["items"]:
        caller.delete(f"/admin/models/{model['id']}")


def run_with_new_model(admin: Api, **model: Any) -> dict[str, Any]:
    """What a run names to be answered by a new model."""
    made = admin.post("/admin/models", {"name": unique("model"), **model})
    return {"model_id": made["id"]}


def test_model_without_tool_calling_searches_and_cites(
    admin: Api, llm_product: Server, scripted_llm: ModelServer, guide_kb_of: Callable[[Server], GuideKb]
):
    library = guide_kb_of(llm_product)
    chosen = run_with_new_model(admin, provider="ollama", base_url=scripted_llm.base_url, model_id="text-rag")
    props = {"forwarded_props": {**chosen, "knowledge_base_ids": [library.kb_id]}}

    events = verified_run(library.owner, "Which port?", **props)

    # What the model wrote behind its call was invented: it had no result yet.
    assert text_of(events) == "I will look.The port is 8000 [1]."
    (started,) = [event for event in events if event["type"] == "TOOL_CALL_START"]
    assert started["toolCallName"] == "search_knowledge_base"
    (usage,) = events[-1]["usage"]
    assert (usage["provider"], usage["model"]) == ("ollama", "text-rag")
    refused = [request for request in scripted_llm.requests if "tools" in request.body]
    assert len(refused) == 1

    verified_run(library.owner, "Which port is it?", **props)
    refused = [request for request in scripted_llm.requests if "tools" in request.body]
    assert len(refused) == 1, "an endpoint that refused tools is not offered them again"


@pytest.mark.parametrize(("provider", "path"), [("anthropic", "/v1"), ("gemini", "/v1beta")])
def test_provider_with_a_protocol_of_its_own_answers(
    admin: Api, llm_product: Server, scripted_llm: ModelServer, provider: str, path: str
):
    base_url = scripted_llm.base_url.removesuffix("/v1") + path
    model = {"provider": provider, "base_url": base_url, "api_key": KEY, "model_id": "plain"}
    props = {"forwarded_props": run_with_new_model(admin, **model)}
    events = verified_run(llm_product.person(), "Hi!", **props)

    assert text_of(events) == "Hello"
    (usage,) = events[-1]["usage"]
    assert (usage["provider"], usage["outputTokens"]) == (provider, 9)
    assert KEY in scripted_llm.requests[-1].headers.values()
    log = llm_product.settings.data_dir / "logs" / "api.log"
    # The log is written behind the run's last event.
    eventually(lambda: events[0]["runId"] in log.read_text(errors="replace"))
    assert KEY not in log.read_text(errors="replace") + str(events)
