"""The stock AG-UI client (``@ag-ui/client``) against the product: it accepts all and warns of nothing."""

import threading
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from agents.agui.verifier import verify
from agents.llm.errors import ModelFault
from agents.strategies import STRATEGIES
from tests.fixtures.http.client import Api, eventually
from tests.fixtures.llm.model_scripts import UPSTREAM_SECRET
from tests.fixtures.llm.model_server import ModelServer
from tests.fixtures.product.server import Server, one_shape
from tests.fixtures.runs.agent_runs import (
    GUIDE,
    MANUAL,
    AguiClient,
    ClientRun,
    GuideKb,
    Run,
    camel,
    run_body,
    text_of,
    types_of,
)

LIBRARY = {"relay.md": GUIDE, "中继.md": MANUAL}


@pytest.fixture
def reader(llm_product: Server, guide_kb_of: Callable[[Server], GuideKb]) -> Api:
    """Somebody who asks the product with a language model."""
    return guide_kb_of(llm_product).owner


@pytest.fixture
def guide(llm_product: Server, guide_kb_of: Callable[[Server], GuideKb]) -> str:
    """A knowledge base of the reader's."""
    return guide_kb_of(llm_product).kb_id


@pytest.fixture
def offline(embedded: Server, guide_kb_of: Callable[[Server], GuideKb]) -> tuple[Api, str]:
    """Somebody who asks the product without a language model, and a knowledge base of theirs."""
    library = guide_kb_of(embedded)
    return library.owner, library.kb_id


def make_step(question: str, kb_id: str | None = None, **step: str) -> dict[str, Any]:
    props = {"agent_type": "agentic_rag", **({"knowledge_base_ids": [kb_id]} if kb_id else {})}
    return {"question": question, "props": props, **step}


def verified_end(run: ClientRun) -> dict:
    assert run.error is None
    verify(run.events)
    return run.events[-1]


@pytest.mark.parametrize(
    ("question", "document", "quote"),
    [
        ("Which port does the relay server listen on?", "relay.md", "port 7070"),
        ("中继服务器默认监听哪个端口？", "中继.md", "7070 端口"),
    ],
)
def test_client_gets_quotes_when_there_is_no_model(
    agui_client: AguiClient, offline: tuple[Api, str], question: str, document: str, quote: str
):
    user, kb_id = offline
    talk = agui_client.talk(user, make_step(question, kb_id))

    verified_end(talk.runs[0])
    answer = talk.messages[-1]
    cited = answer["metadata"]["citations"]
    assert document in {citation["document_name"] for citation in cited}
    assert quote in answer["content"]
    assert all(citation["quote"] in LIBRARY[citation["document_name"]] for citation in cited)
    assert talk.runs[0].events[-1]["result"]["usage"]["prompt_tokens"] == 0


@pytest.mark.parametrize("agent_type", sorted(STRATEGIES))
def test_client_follows_every_agent_type(agui_client: AguiClient, offline: tuple[Api, str], agent_type: str):
    user, kb_id = offline
    step = make_step("Which port does the relay use; how long are logs kept?", kb_id)
    step["props"]["agent_type"] = agent_type
    talk = agui_client.talk(user, step)

    last = verified_end(talk.runs[0])
    assert talk.state["citations"] == last["result"]["citations"] != []
    assert "port 7070" in talk.messages[-1]["content"]
    (shown,) = [message for message in talk.messages if message["role"] == "activity"]
    assert (shown["activityType"], shown["content"]["status"]) == ("agentex:progress", "done")
    assert shown["content"]["calls"] > 0


SCRIPTS = {
    "react": "react",
    "plan_execute": "plan",
    "reflexion": "reflexion",
    "worker": "worker-plan",
}


@pytest.mark.parametrize("agent_type", SCRIPTS)
def test_client_follows_every_agent_type_of_a_model(agui_client: AguiClient, reader: Api, guide: str, agent_type: str):
    question = f"Which port is it, and how long are logs kept? #{SCRIPTS[agent_type]}"
    step = make_step(question, guide)
    step["props"]["agent_type"] = agent_type
    talk = agui_client.talk(reader, step)

    last = verified_end(talk.runs[0])
    assert talk.state["citations"] == last["result"]["citations"] != []
    assert talk.messages[-1]["content"].startswith("The port is 7070 [1].")
    assert "reasoning" in {message["role"] for message in talk.messages}


def test_client_is_told_when_nothing_is_found(agui_client: AguiClient, offline: tuple[Api, str]):
    user, kb_id = offline
    talk = agui_client.talk(user, make_step("Who composed the Goldberg variations?", kb_id))

    last = verified_end(talk.runs[0])
    assert last["result"]["citations"] == talk.state["citations"] == []
    assert talk.messages[-1]["role"] == "assistant"
    assert "7070" not in talk.messages[-1]["content"]


def test_client_is_told_when_there_is_no_knowledge_base(agui_client: AguiClient, embedded: Server):
    newcomer = embedded.person()
    kb_id = newcomer.create_kb()
    talk = agui_client.talk(newcomer, make_step("Which port does it listen on?", kb_id))

    verified_end(talk.runs[0])
    assert talk.messages[-1]["content"]
    assert "metadata" not in talk.messages[-1]


def test_client_gets_an_answer_with_citations(agui_client: AguiClient, reader: Api, guide: str):
    thread_id = str(uuid4())
    talk = agui_client.talk(reader, make_step("Which port does the relay listen on? #rag", guide), threadId=thread_id)

    last = verified_end(talk.runs[0])
    assert (last["type"], last["threadId"]) == ("RUN_FINISHED", thread_id)
    assert last.get("outcome") is None
    answer = talk.messages[-1]
    assert (answer["role"], answer["content"]) == ("assistant", "The port is 8000 [1].")
    cited = answer["metadata"]["citations"]
    assert [(c["number"], c["document_name"]) for c in cited] == [(1, "relay.md")]
    assert cited[0]["quote"] in GUIDE
    assert talk.state["citations"] == cited
    roles = [message["role"] for message in talk.messages]
    assert roles == ["user", "activity", "assistant", "tool", "assistant"]
    assert last["usage"][0]["inputTokens"] == last["result"]["usage"]["prompt_tokens"] == 33


def test_client_shows_reasoning_and_tool_calls(agui_client: AguiClient, reader: Api, guide: str):
    talk = agui_client.talk(reader, make_step("What do you think? #rag-reasoning", guide))

    verified_end(talk.runs[0])
    roles = [message["role"] for message in talk.messages]
    assert roles == ["user", "activity", "reasoning", "assistant", "tool", "tool", "assistant"]
    assert talk.messages[2]["content"] == "First thoughts."
    calls = talk.messages[3]["toolCalls"]
    assert [call["function"]["arguments"] for call in calls] == [
        '{"query": "port"}',
        '{"query": "host"}',
    ]
    assert {m["toolCallId"] for m in talk.messages[4:6]} == {call["id"] for call in calls}


def test_client_sends_its_history_back_in_the_next_run(
    agui_client: AguiClient, reader: Api, guide: str, scripted_llm: ModelServer
):
    talk = agui_client.talk(
        reader,
        make_step("Which port is it? #rag-reasoning", guide),
        make_step("And since when? #rag", guide),
    )

    for run in talk.runs:
        verified_end(run)
    roles = [m["role"] for m in talk.messages]
    assert roles.count("user") == 2
    asked = next(r for r in scripted_llm.requests if "And since when?" in r.messages[-1]["content"])
    assert [m["role"] for m in asked.messages] == [
        "system",
        "user",
        "assistant",
        "assistant",
        "user",
    ]
    stored = reader.get("/sessions")["items"][0]
    assert stored["message_count"] == 5


def test_client_stops_a_slow_model(agui_client: AguiClient, reader: Api, guide: str, scripted_llm: ModelServer):
    talk = agui_client.talk(reader, make_step("Which port? #rag-slow", guide, stopAt="TEXT_MESSAGE_CONTENT"))

    run = talk.runs[0]
    assert run.stopped is not None
    assert run.stopped["body"]["data"] == {"run_id": run.events[0]["runId"], "stopped": True}
    assert run.stopped["ms"] < 10_000
    assert verified_end(run)["outcome"] == {"type": "cancelled"}
    assert talk.messages[-1]["content"] == "The port"
    assert talk.messages[-1]["metadata"]["stopped"] is True
    assert scripted_llm.hung_up.wait(5)


def test_client_is_told_safely_when_the_model_fails(agui_client: AguiClient, reader: Api, guide: str):
    talk = agui_client.talk(
        reader,
        make_step("Which port? #unauthorized", guide),
        make_step("Which port then? #rag-drop", guide),
        make_step("And now? #rag", guide),
    )

    refused, broken, fine = talk.runs
    assert verified_end(refused)["type"] == verified_end(broken)["type"] == "RUN_ERROR"
    assert refused.events[-1]["code"] == "LLM_ERROR"
    reason = ModelFault.KEY_REFUSED.en.format(status=401)
    assert refused.events[-1]["message"] == f"The language model failed: {reason}"
    assert UPSTREAM_SECRET not in str(talk)
    assert text_of(broken.events) == "The port"
    assert verified_end(fine)["type"] == "RUN_FINISHED"


def test_client_is_refused_when_the_thread_is_busy(agui_client: AguiClient, reader: Api, scripted_llm: ModelServer):
    body = camel(run_body("Say hello #slow"))
    with Run(reader, body) as busy:
        busy.until("TEXT_MESSAGE_CONTENT")
        talk = agui_client.talk(reader, make_step("Me too #plain"), threadId=body["threadId"])
        scripted_llm.release.set()
        assert text_of(busy.finish()) == "Hello"

    error = talk.runs[0].error
    assert error is not None
    assert (error["status"], error["payload"]["code"]) == (409, 40905)
    assert talk.runs[0].events == []


def test_client_is_refused_before_the_run_starts(agui_client: AguiClient, llm_product: Server, reader: Api):
    stranger = agui_client.talk(llm_product.api(), make_step("Hello #plain")).runs[0]
    unknown_type = agui_client.talk(reader, {"question": "Hello #plain", "props": {"agent_type": "telepathy"}}).runs[0]
    unknown_kb = agui_client.talk(reader, make_step("Hello #plain", str(uuid4()))).runs[0]

    errors = [run.error or {} for run in (stranger, unknown_type, unknown_kb)]
    assert [e["status"] for e in errors] == [401, 400, 404]
    assert [e["payload"]["code"] for e in errors] == [40101, 40018, 40404]
    assert all(run.events == [] for run in (stranger, unknown_type, unknown_kb))


def test_run_goes_on_when_the_client_goes_away(agui_client: AguiClient, reader: Api, scripted_llm: ModelServer):
    thread_id = str(uuid4())
    talk = agui_client.talk(reader, make_step("Say hello #slow", abortAt="TEXT_MESSAGE_CONTENT"), threadId=thread_id)
    assert types_of(talk.runs[0].events)[-1] == "RUN_ERROR", "the client's own mark of its abort"
    assert not scripted_llm.hung_up.is_set()
    scripted_llm.release.set()

    def answer() -> str | None:
        messages = reader.get(f"/sessions/{thread_id}/messages")["items"]
        return messages[1]["content"] if len(messages) > 1 else None

    assert eventually(answer) == "Hello"


ASK_SURE = '/tool confirm_action {"message": "Sure?"}'


def acting(question: str, **step: Any) -> dict[str, Any]:
    return {"question": question, "props": {"agent_type": "react"}, **step}


def test_client_answers_an_interrupt_and_the_run_goes_on(agui_client: AguiClient, user: Api):
    ask = acting('/tool request_input {"prompt": "Which address?"}')
    talk = agui_client.talk(user, ask, {"resume": {"input": "a@example.com"}})

    first, second = talk.runs
    (interrupt,) = verified_end(first)["outcome"]["interrupts"]
    assert interrupt["message"] == "Which address?"
    assert second.error is None
    assert "outcome" not in second.events[-1]
    assert talk.pending_interrupts == []
    roles = [message["role"] for message in talk.messages]
    assert roles == ["user", "activity", "assistant", "tool", "assistant"]
    assert talk.messages[1]["content"]["status"] == "done"
    assert talk.messages[3]["content"] == '{"input": "a@example.com"}'


def test_client_that_lost_its_interrupts_is_told_of_them_in_the_stream(agui_client: AguiClient, embedded: Server):
    user = embedded.person()
    thread = str(uuid4())
    first = agui_client.talk(user, acting(ASK_SURE), threadId=thread)
    url = str(user.http.base_url.join("/agent"))
    talk = agui_client.talk(user, acting("Hello"), threadId=thread, url=url)

    (run,) = talk.runs
    assert run.error is None, "it would be, had the server answered 409"
    assert (run.events[-1]["type"], run.events[-1]["code"]) == ("RUN_ERROR", "INTERRUPTS_OPEN")
    verify(run.events, thread_id=thread)
    connect = str(user.http.base_url.join("/agent/connect"))
    joined = agui_client.talk(user, {"connect": connect}, threadId=thread)
    assert joined.pending_interrupts == first.pending_interrupts != []


@one_shape
def test_client_that_comes_again_cancels_an_interrupt_and_asks_on(agui_client: AguiClient, server: Server, user: Api):
    connect = str(user.http.base_url.join("/agent/connect"))
    thread = str(uuid4())
    ask = acting('/tool confirm_action {"message": "Delete all?"}')
    agui_client.talk(user, ask, threadId=thread)
    server.kill("api")
    server.wait_ready()
    talk = agui_client.talk(user, {"connect": connect}, threadId=thread)

    assert [one["message"] for one in talk.pending_interrupts] == ["Delete all?"]
    assert [message["role"] for message in talk.messages] == ["user", "activity", "assistant"]
    assert talk.messages[1]["content"]["status"] == "waiting"
    # Its agent's address is that of the join; the answer goes to the run's.
    answer = [{"interruptId": talk.pending_interrupts[0]["id"], "status": "cancelled"}]
    body = {"threadId": thread, "runId": str(uuid4()), "messages": [], "resume": answer}
    with Run(user, body) as resumed:
        events = resumed.finish()
    assert events[-1]["type"] == "RUN_FINISHED"
    assert "Declined" in next(e["content"] for e in events if e["type"] == "TOOL_CALL_RESULT")


def test_client_makes_the_calls_of_its_own_tools(agui_client: AguiClient, user: Api):
    place = {
        "name": "get_location",
        "description": "获取用户当前位置",
        "parameters": {"type": "object", "properties": {}, "required": []},
    }
    ask = acting("/tool get_location {}", tools=[place])
    talk = agui_client.talk(user, ask, {"answer": "In Ulm.", "tools": [place]})

    first, second = talk.runs
    (pending,) = verified_end(first)["outcome"]["pendingToolCallIds"]
    assert second.error is None
    results = [e for e in second.events if e["type"] == "TOOL_CALL_RESULT"]
    assert [(e["toolCallId"], e["content"]) for e in results] == [(pending, "In Ulm.")]
    assert "In Ulm." in talk.messages[-1]["content"]


def test_client_joins_a_run_that_is_under_way(agui_client: AguiClient, reader: Api, scripted_llm: ModelServer):
    thread = str(uuid4())
    ask = {"id": "q", "role": "user", "content": "Hello #slow"}
    body = {"threadId": thread, "runId": str(uuid4()), "messages": [ask]}
    connect = str(reader.http.base_url.join("/agent/connect"))
    with Run(reader, body) as live:
        live.until("TEXT_MESSAGE_CONTENT")
        threading.Timer(3, scripted_llm.release.set).start()
        talk = agui_client.talk(reader, {"connect": connect}, threadId=thread)
        live.finish()

    verified_end(talk.runs[0])
    shown = talk.messages.pop(1)
    # Joined in the middle, and patched from there on.
    assert (shown["activityType"], shown["content"]["status"]) == ("agentex:progress", "done")
    assert [(m["role"], m["content"]) for m in talk.messages] == [
        ("user", "Hello #slow"),
        ("assistant", "Hello"),
    ]
