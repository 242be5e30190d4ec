"""Agents asked over MCP by the library's own client: answers, progress, questions back, cancelled requests."""

import base64
import json
import threading
from collections.abc import Callable
from typing import Any

import anyio
import anyio.to_thread
import httpx
import pytest
from mcp.client.context import ClientRequestContext
from mcp_types import ElicitRequestParams, ElicitResult

from core.errors.auth import InvalidToken, SessionNotFound
from core.errors.conflicts import InterruptsOpen, SessionArchived, ThreadBusy
from core.errors.requests import InvalidRequest, InvalidRunInput, UnknownAgentType
from core.errors.server import ModelFailed, ShuttingDown
from tests.fixtures.http.client import NO_CERTIFICATES, Api, eventually
from tests.fixtures.http.mcp_client import MODES, PATH, call_tool, connect, refused_call, tool_error_details
from tests.fixtures.llm.model_scripts import UPSTREAM_SECRET
from tests.fixtures.llm.model_server import ModelServer
from tests.fixtures.product.api_processes import ApiProcesses, same_caller
from tests.fixtures.product.server import Server
from tests.fixtures.runs.agent_runs import GuideKb

pytestmark = pytest.mark.anyio
QUESTION = "Which port does the relay server listen on?"
TO_ASK = {"Accept": "application/json, text/event-stream"}


@pytest.fixture
def guide_kb(llm_product: Server, guide_kb_of: Callable[[Server], GuideKb]) -> GuideKb:
    return guide_kb_of(llm_product)


@pytest.fixture
def person(llm_product: Server) -> Api:
    return llm_product.person()


async def reached(event: threading.Event) -> None:
    assert await anyio.to_thread.run_sync(event.wait, 60)


def run_status(server: Server, person: Api) -> str:
    rows = server.sql("SELECT status FROM agent_run WHERE owner_id = :id ORDER BY created_at DESC", id=person.user_id)
    return rows[0]["status"] if rows else ""


async def until_status(server: Server, person: Api, status: str) -> None:
    def is_there() -> bool:
        return run_status(server, person) == status

    # After a restart a run waits for its lease to end.
    await anyio.to_thread.run_sync(lambda: eventually(is_there, seconds=180, what=status))


def choose(person: Api, **policies: str) -> None:
    person.put("/users/me/tool-policies", {"policies": policies})


@pytest.mark.parametrize("mode", MODES)
async def test_agent_answers_with_citations_and_tells_how_far_it_is(llm_product: Server, guide_kb: GuideKb, mode: str):
    steps: list[tuple[float, str]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        steps.append((progress, message or ""))

    arguments = {"question": f"{QUESTION} #rag", "knowledge_base_ids": [guide_kb.kb_id]}
    async with connect(llm_product, guide_kb.owner, mode) as client:
        result = await client.call_tool("ask", arguments, progress_callback=note)
        answer = result.structured_content
        assert (answer["answer"], answer["status"]) == ("The port is 8000 [1].", "complete")
        (citation,) = answer["citations"]
        assert (citation["number"], citation["knowledge_base_id"]) == (1, guide_kb.kb_id)
        passage = await call_tool(client, "read_passage", chunk_id=citation["chunk_id"])
        assert passage["document_name"] == citation["document_name"]
        assert citation["quote"] in passage["passages"][0]["text"]
        text = result.content[0].text
        assert text.startswith("The port is 8000 [1].")
        assert f"[1] {citation['document_name']}" in text
        assert answer["session_id"] in text
    assert [number for number, _ in steps] == sorted({number for number, _ in steps})
    messages = [message for _, message in steps]
    assert "Writing the answer" in messages
    assert any(message.startswith("Step: ") for message in messages)


@pytest.mark.parametrize("mode", MODES)
async def test_conversation_goes_on_by_its_session(llm_product: Server, guide_kb: GuideKb, mode: str):
    owner = guide_kb.owner
    async with connect(llm_product, owner, mode) as client:
        first = await call_tool(client, "ask", question="Hello #plain", agent_type="react")
        again = await call_tool(client, "ask", question="And now? #plain", session_id=first["session_id"])
        assert again["session_id"] == first["session_id"]
        assert again["run_id"] != first["run_id"]
        messages = owner.get(f"/sessions/{first['session_id']}/messages")["items"]
        assert [message["content"] for message in messages] == [
            "Hello #plain", "Hello from the model.", "And now? #plain", "Hello from the model.",
        ]  # fmt: skip
        other = await call_tool(client, "ask", question="Hello #plain", agent_type="react")
        assert other["session_id"] != first["session_id"]


async def test_without_a_language_model_the_answer_is_quoted(server: Server, user: Api):
    kb_id = user.create_kb()
    user.ingest(kb_id, "relay.md", "# Relay\n\nThe relay server listens on port 7070.")
    async with connect(server, user) as client:
        answer = await call_tool(client, "ask", question=QUESTION, knowledge_base_ids=[kb_id])
    assert "No language model is configured" in answer["answer"]
    assert "7070" in answer["citations"][0]["quote"]
    assert answer["status"] == "complete"


@pytest.mark.parametrize("mode", MODES)
async def test_cancelled_request_cancels_its_run(
    llm_product: Server, person: Api, scripted_llm: ModelServer, mode: str
):
    async with connect(llm_product, person, mode) as client:
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "ask", {"question": "Go on #slow", "agent_type": "react"})
            await reached(scripted_llm.waiting)
            group.cancel_scope.cancel()
        await until_status(llm_product, person, "cancelled")
        # The connection goes on.
        assert await call_tool(client, "list_knowledge_bases")
    (session,) = person.get("/sessions")["items"]
    messages = person.get(f"/sessions/{session['id']}/messages")["items"]
    assert messages[-1]["content"] == "Hel"


@pytest.mark.parametrize("accept", ["application/json", TO_ASK["Accept"]])
@pytest.mark.parametrize("version", ["2025-06-18", "2026-07-28"])
async def test_client_that_hangs_up_cancels_its_run(
    llm_product: Server, person: Api, scripted_llm: ModelServer, accept: str, version: str
):
    meta = {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {},
        "progressToken": 1,
    }
    params = {"name": "ask", "arguments": {"question": "Go on #slow", "agent_type": "react"}, "_meta": meta}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {"Accept": accept, "MCP-Protocol-Version": version, "Mcp-Method": "tools/call", "Mcp-Name": "ask"}
    base = f"http://127.0.0.1:{llm_product.settings.port}"
    async with httpx.AsyncClient(
        base_url=base, headers={**person.headers, **headers}, timeout=60, verify=NO_CERTIFICATES
    ) as http:
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: http.post(f"/api/v1{PATH}", json=message))
            await reached(scripted_llm.waiting)
            group.cancel_scope.cancel()
        await until_status(llm_product, person, "cancelled")


async def test_cancellation_of_somebody_else_or_of_another_connection_cancels_nothing(
    llm_product: Server, person: Api, scripted_llm: ModelServer
):
    other = llm_product.person()
    results: list[Any] = []

    def cancel(caller: Api, **headers: str) -> None:
        for request_id in range(1, 4):
            body = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": request_id}}
            assert caller.request("POST", PATH, json=body, headers={**TO_ASK, **headers}).status_code == 202

    async with connect(llm_product, person, "legacy") as client:

        async def ask() -> None:
            results.append(await call_tool(client, "ask", question="Go on #slow", agent_type="react"))

        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            await reached(scripted_llm.waiting)
            for caller in (person, other):
                await anyio.to_thread.run_sync(cancel, caller)
            session = {"Mcp-Session-Id": "0" * 32}
            await anyio.to_thread.run_sync(lambda: cancel(person, **session))
            assert run_status(llm_product, person) == "running"
            scripted_llm.release.set()
    assert results[0]["answer"] == "Hello"


async def test_run_ends_with_the_key_that_began_it(llm_product: Server, person: Api, scripted_llm: ModelServer):
    made = person.post("/users/me/api-keys", {"name": "mcp", "scopes": ["agent:run"]})
    key = llm_product.api(Authorization=f"Bearer {made['key']}")
    results: list[Any] = []

    async with connect(llm_product, key) as client:

        async def ask() -> None:
            results.append(await client.call_tool("ask", {"question": "Go on #slow", "agent_type": "react"}))

        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            await reached(scripted_llm.waiting)
            await anyio.to_thread.run_sync(person.delete, f"/users/me/api-keys/{made['id']}")
            await until_status(llm_product, person, "cancelled")
    tool_error_details(results[0], InvalidToken)


class Person:
    """Answers what a client asks for a server, and notes it."""

    def __init__(self, *answers: ElicitResult) -> None:
        self.questions: list[ElicitRequestParams] = []
        self._answers = list(answers)

    async def answer(self, _context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        self.questions.append(params)
        return self._answers.pop(0)


async def ask_with(server: Server, caller: Api, person: Person, question: str) -> Any:
    async with connect(server, caller, elicitation_callback=person.answer) as client:
        return await client.call_tool("ask", {"question": question, "agent_type": "react"})


async def test_person_at_the_client_approves_a_call(llm_product: Server, person: Api):
    choose(person, calendar_write="ask")
    yes = Person(ElicitResult(action="accept", content={"approved": True}))
    result = await ask_with(llm_product, person, yes, "Book #calls-calendar")
    assert not result.is_error
    assert result.structured_content["status"] == "complete"
    (question,) = yes.questions
    assert "calendar_write" in question.message
    assert set(question.requested_schema["properties"]) == {"approved"}
    assert len(person.get("/calendar/events")["items"]) == 1
    for no in (
        ElicitResult(action="accept", content={"approved": False}),
        ElicitResult(action="accept", content={}),
        ElicitResult(action="decline"),
    ):
        result = await ask_with(llm_product, person, Person(no), "Book #calls-calendar")
        assert result.structured_content["status"] == "complete"
        assert len(person.get("/calendar/events")["items"]) == 1


async def test_person_at_the_client_answers_what_an_agent_asks(llm_product: Server, person: Api):
    yes = Person(ElicitResult(action="accept", content={"confirmed": True}))
    result = await ask_with(llm_product, person, yes, "Please #asks")
    assert result.structured_content["answer"] == "Done."
    assert [question.message for question in yes.questions] == ["Sure?"]
    # An answer of another shape than was asked for changes nothing.
    wrong = Person(ElicitResult(action="accept", content={"confirmed": "perhaps"}))
    assert (await ask_with(llm_product, person, wrong, "Please #asks")).is_error


@pytest.mark.parametrize("mode", MODES)
async def test_client_without_forms_is_told_where_the_question_waits(llm_product: Server, person: Api, mode: str):
    async with connect(llm_product, person, mode) as client:
        details = await refused_call(client, InterruptsOpen, "ask", question="Please #asks", agent_type="react")
        assert details["questions"] == ["Sure?"]
        session_id = details["session_id"]
        # It waits until it is answered in the console.
        await refused_call(client, InterruptsOpen, "ask", question="Well? #plain", session_id=session_id)
        (interrupt,) = person.get("/sessions", waiting=True)["items"][0]["interrupts"]
        answer = {"interruptId": interrupt["id"], "status": "resolved", "payload": {"confirmed": True}}
        body = {"threadId": session_id, "runId": "r1", "messages": [], "resume": [answer]}
        body |= {"tools": [], "context": [], "state": {}, "forwardedProps": {}}
        assert person.request("POST", "/agent/run", json=body).status_code == 200
        again = await call_tool(client, "ask", question="Well? #plain", session_id=session_id)
        assert again["answer"] == "Hello from the model."


async def test_dismissed_question_and_a_forged_state_answer_nothing(llm_product: Server, person: Api):
    dismissed = Person(ElicitResult(action="cancel"))
    result = await ask_with(llm_product, person, dismissed, "Please #asks")
    details = tool_error_details(result, InterruptsOpen)
    assert person.get("/sessions", waiting=True)["total"] == 1
    stranger = llm_product.person()
    async with connect(llm_product, stranger) as client:
        for state in ("", "x", "e30=", "W10=", "WyJhIiwgWyJiIl0sIFsiYyJdXQ==" + "A" * 30_000):
            result = await client.session.call_tool(
                "ask", {"question": "x"}, request_state=state, input_responses={}, allow_input_required=True
            )
            tool_error_details(result, InvalidRequest)
        # Somebody else's interrupt is not there, whoever names it.
        state = _state_of(details["session_id"], details["interrupts"][0])
        answers = {details["interrupts"][0]: ElicitResult(action="accept", content={"confirmed": True})}
        result = await client.session.call_tool(
            "ask", {"question": "x"}, request_state=state, input_responses=answers, allow_input_required=True
        )
        assert result.is_error
    assert person.get("/sessions", waiting=True)["total"] == 1


def _state_of(session_id: str, interrupt_id: str) -> str:
    return base64.urlsafe_b64encode(json.dumps([session_id, [interrupt_id], ["confirmation"]]).encode()).decode()


@pytest.mark.parametrize("mode", MODES)
async def test_what_can_not_be_asked_is_told(llm_product: Server, person: Api, mode: str):
    async with connect(llm_product, person, mode) as client:
        await refused_call(client, UnknownAgentType, "ask", question="x", agent_type="oracle")
        details = await refused_call(client, InvalidRunInput, "ask", question="x", model_id="gpt-unknown")
        assert details["field"] == "model_id"
        assert "default" in details["known"]
        await refused_call(client, SessionNotFound, "ask", question="x", session_id="not-there")
        details = await refused_call(client, ModelFailed, "ask", question="x #unauthorized", agent_type="react")
        assert UPSTREAM_SECRET not in str(details)
        assert person.get(f"/sessions/{details['session_id']}")
        first = await call_tool(client, "ask", question="Hello #plain", agent_type="react")
        person.put(f"/sessions/{first['session_id']}", {"is_archived": True})
        await refused_call(client, SessionArchived, "ask", question="x #plain", session_id=first["session_id"])


async def test_conversation_answers_a_question_at_a_time(llm_product: Server, person: Api, scripted_llm: ModelServer):
    session_id = person.post("/sessions", {"title": "busy"})["id"]
    async with connect(llm_product, person) as client, anyio.create_task_group() as group:

        async def ask() -> None:
            await call_tool(client, "ask", question="Go on #slow", agent_type="react", session_id=session_id)

        group.start_soon(ask)
        await reached(scripted_llm.waiting)
        await refused_call(client, ThreadBusy, "ask", question="x #plain", session_id=session_id)
        scripted_llm.release.set()


async def test_answer_comes_into_the_conversation_when_the_server_restarts_meanwhile(
    standalone_apis: ApiProcesses, scripted_llm: ModelServer
):
    first = standalone_apis.start()
    person = first.person()
    results: list[Any] = []

    async def ask() -> None:
        async with connect(first, person) as client:
            results.append(await client.call_tool("ask", {"question": "Go on #slow", "agent_type": "react"}))

    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        await reached(scripted_llm.waiting)
        await anyio.to_thread.run_sync(standalone_apis.stop, first)
    details = tool_error_details(results[0], ShuttingDown)
    scripted_llm.release.set()
    second = standalone_apis.start()
    await until_status(second, person, "completed")
    messages = same_caller(person, second).get(f"/sessions/{details['session_id']}/messages")["items"]
    assert messages[-1]["content"] == "Hello"
    standalone_apis.stop(second)
