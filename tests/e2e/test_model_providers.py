"""Models behind the presets of providers, asked by the real product."""

from collections.abc import Iterator

import pytest

from tests.fixtures.agents import GUIDE, text_of, verified_run
from tests.fixtures.apis import Apis, api_processes
from tests.fixtures.model_server import ModelServer
from tests.fixtures.server import Server, running_server


@pytest.fixture(scope="module")
def endpoint() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory, endpoint: ModelServer) -> Iterator[Server]:
    variables = {
        "AGENTEX_LLM_PROVIDER": "ollama",
        "AGENTEX_LLM_BASE_URL": endpoint.base_url,
        "AGENTEX_LLM_MODEL": "text-rag",
    }
    with running_server(tmp_path_factory.mktemp("text"), variables=variables) as server:
        yield server


def test_model_without_tool_calling_searches_and_cites(local: Server, endpoint: ModelServer):
    user = local.person()
    kb_id = user.create_kb()
    user.ingest(kb_id, "relay.md", GUIDE)
    wishes = {"forwarded_props": {"knowledge_base_ids": [kb_id]}}

    events = verified_run(user, "Which port?", **wishes)

    # What the model wrote behind its call was invented: it had no result yet.
    assert text_of(events) == "I will look.The port is 8000 [1]."
    (started,) = [event for event in events if event["type"] == "TOOL_CALL_START"]
    assert started["toolCallName"] == "search_knowledge_base"
    (usage,) = events[-1]["usage"]
    assert (usage["provider"], usage["model"]) == ("ollama", "text-rag")
    refused = [request for request in endpoint.requests if "tools" in request.body]
    assert len(refused) == 1

    verified_run(user, "Which port is it?", **wishes)
    refused = [request for request in endpoint.requests if "tools" in request.body]
    assert len(refused) == 1, "an endpoint that refused tools is not offered them again"


@pytest.fixture(scope="module")
def apis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Apis]:
    """API processes are enough for who searches nothing."""
    with api_processes(tmp_path_factory.mktemp("providers"), {}) as apis:
        yield apis


@pytest.mark.parametrize(
    ("provider", "variable", "path"),
    [("anthropic", "ANTHROPIC_API_KEY", "/v1"), ("gemini", "GEMINI_API_KEY", "/v1beta")],
)
def test_provider_with_a_protocol_of_its_own_answers(
    apis: Apis, endpoint: ModelServer, provider: str, variable: str, path: str
):
    server = apis.start(
        **{
            "AGENTEX_LLM_PROVIDER": provider,
            "AGENTEX_LLM_BASE_URL": endpoint.base_url.removesuffix("/v1") + path,
            "AGENTEX_LLM_MODEL": "plain",
            variable: "sk-usual-key",
        }
    )
    events = verified_run(server.person(), "Hi!")
    logged = server.output.read_text(errors="replace")
    assert "run.ended" in logged
    assert "sk-usual-key" not in logged + str(events)

    assert text_of(events) == "Hello"
    (usage,) = events[-1]["usage"]
    assert (usage["provider"], usage["outputTokens"]) == (provider, 9)
    assert "sk-usual-key" in endpoint.requests[-1].headers.values()
