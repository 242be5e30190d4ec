"""A message of the user beside an answer that a thread waits for: it is answered next, in order and once."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest

from agents.agui.encoder import to_snake_case
from agents.agui.verifier import verify
from tests.fixtures.http.client import Api, eventually
from tests.fixtures.http.event_streams import events_in
from tests.fixtures.llm.model_scripts import text_of_message
from tests.fixtures.llm.model_server import ModelServer
from tests.fixtures.product.server import Server
from tests.fixtures.runs.async_runs import read, start

Event = dict[str, Any]
PLACE = {"name": "get_location", "description": "The place of the user", "parameters": {"type": "object"}}
FRONTEND = ["get_location", {}]
CONFIRM = ["confirm_action", {"message": "Delete?"}]
MAIL = ["request_input", {"prompt": "Which address?"}]
NEXT = "And now greet me. #usage-null"


@pytest.fixture
def user(llm_product: Server) -> Api:
    return llm_product.person()


def user_message(text: str) -> Event:
    return {"id": f"msg-{uuid4()}", "role": "user", "content": text}


def to_make(*calls: Any) -> str:
    """A question whose model makes these calls, and says "All done." after their results."""
    return f"Please. #calls {json.dumps(calls)}"


def post(api: Api, path: str, body: Event) -> list[Event]:
    return events_in(api.http.post(path, headers=api.headers, json=body))


def run_agui(api: Api, body: Event) -> list[Event]:
    return post(api, "/agent", body)


def run_camel(api: Api, body: Event) -> list[Event]:
    return post(api, "/api/v1/agent/run", body)


def run_snake(api: Api, body: Event) -> list[Event]:
    names = {"threadId": "thread_id", "runId": "run_id", "forwardedProps": "forwarded_props"}
    return post(api, "/api/v1/agent/run", {names.get(key, key): value for key, value in body.items()})


def run_async(api: Api, body: Event) -> list[Event]:
    start(api, body)
    return [frame.event for frame in read(api, body["threadId"])]


Dialect = Callable[[Api, Event], list[Event]]
STREAMS = pytest.mark.parametrize("dialect", [run_agui, run_camel, run_snake])


@dataclass
class Talk:
    """A thread as a client has it, which sends all its messages with each run."""

    api: Api
    dialect: Dialect = run_agui

    def __post_init__(self) -> None:
        self.thread_id = str(uuid4())
        self.messages: list[Event] = []

    def run(self, *messages: Event, agent_type: str = "react", **fields: Any) -> list[Event]:
        self.messages += messages
        body = {"threadId": self.thread_id, "runId": f"run-{uuid4()}", "messages": self.messages}
        return self.dialect(
            self.api, {**body, "tools": [PLACE], "forwardedProps": {"agent_type": agent_type}, **fields}
        )

    def stored(self) -> list[tuple[str, str]]:
        items = self.api.get(f"/sessions/{self.thread_id}/messages")["items"]
        return [(item["role"], item["content"]) for item in items if item["content"]]


def calls_of(events: list[Event]) -> list[str]:
    return [e.get("toolCallId") or e.get("tool_call_id") for e in events if e["type"] == "TOOL_CALL_START"]


def interrupts_of(events: list[Event]) -> list[Event]:
    return events[-1]["outcome"]["interrupts"]


def result_of(call_id: str, content: Any) -> Event:
    return {"id": f"msg-{uuid4()}", "role": "tool", "toolCallId": call_id, "content": json.dumps(content)}


def resolved(interrupt: Event, payload: Any) -> Event:
    return {"interruptId": interrupt["id"], "status": "resolved", "payload": payload}


def outline(events: list[Event]) -> list[str]:
    """Results and texts, in order."""
    texts: list[str] = []
    for event in events:
        if event["type"] == "TOOL_CALL_RESULT":
            texts.append("result")
        elif event["type"] == "TEXT_MESSAGE_START":
            texts.append("")
        elif event["type"] == "TEXT_MESSAGE_CONTENT":
            texts[-1] += event["delta"]
    return texts


def prompts_asking(llm: ModelServer, question: str) -> list[list[str]]:
    """The texts of each request whose newest message of the user is this one."""
    prompts = [request.body["messages"] for request in llm.requests]
    return [
        [text_of_message(message) for message in prompt]
        for prompt in prompts
        if [text_of_message(m) for m in prompt if m["role"] == "user"][-1] == question
    ]


def check_both_answered(talk: Talk, llm: ModelServer, question: str) -> None:
    assert talk.stored() == [
        ("user", question),
        ("user", NEXT),
        ("assistant", "All done."),
        ("assistant", "Hi"),
    ]
    (prompt,) = prompts_asking(llm, NEXT)
    assert prompt[-3:] == [question, "All done.", NEXT]


@STREAMS
def test_message_beside_a_frontend_result_is_answered_after_it(user: Api, scripted_llm: ModelServer, dialect: Dialect):
    talk, question = Talk(user, dialect), to_make(FRONTEND)
    first = talk.run(user_message(question))
    (call_id,) = calls_of(first)
    events = talk.run(result_of(call_id, {"city": "Ulm"}), user_message(NEXT))

    assert outline(events) == ["result", "All done.", "Hi"]
    assert events[-1]["type"] == "RUN_FINISHED"
    check_both_answered(talk, scripted_llm, question)
    if dialect is run_snake:
        assert to_snake_case(events[0]) == events[0]
    else:
        verify([*first, *events])


@STREAMS
@pytest.mark.parametrize(("call", "payload"), [(CONFIRM, {"confirmed": True}), (MAIL, {"input": "a@example.com"})])
def test_message_beside_an_answer_of_a_person_is_answered_after_it(
    user: Api, scripted_llm: ModelServer, dialect: Dialect, call: Any, payload: Event
):
    talk, question = Talk(user, dialect), to_make(call)
    (interrupt,) = interrupts_of(talk.run(user_message(question)))
    events = talk.run(user_message(NEXT), resume=[resolved(interrupt, payload)])

    assert outline(events) == ["result", "All done.", "Hi"]
    check_both_answered(talk, scripted_llm, question)


def test_message_beside_an_answer_is_answered_after_it_in_an_asynchronous_run(user: Api, scripted_llm: ModelServer):
    talk, question = Talk(user, run_async), to_make(CONFIRM)
    (interrupt,) = interrupts_of(talk.run(user_message(question)))
    talk.messages = []
    events = talk.run(user_message(NEXT), resume=[resolved(interrupt, {"confirmed": True})])

    answers = [event["answer"] for event in events if event["type"] == "TEXT_MESSAGE_END"]
    assert answers == ["All done.", "Hi"]
    check_both_answered(talk, scripted_llm, question)


def test_task_tells_the_answer_to_a_message_that_came_beside_an_approval(user: Api, scripted_llm: ModelServer):
    me, task, question = user.get("/users/me")["username"], f"task-{uuid4()}", to_make(CONFIRM)
    talk = Talk(user)
    talk.thread_id = user.post("/sessions", {"title": "t", "config": {"agent_type": "react"}})["id"]
    body = {"user_id": me, "session_id": talk.thread_id, "task_id": task, "query": question}
    assert user.http.post("/agent/invoke", headers=user.headers, json=body).is_success
    path = f"/agent/status/{me}/{talk.thread_id}/{task}"

    def status() -> Event:
        return user.http.get(path, headers=user.headers).json()

    eventually(lambda: status()["status"] == "interrupted", what="interrupted")
    (interrupt,) = status()["last_response"]["interrupt_data"]["interrupts"]
    talk.run(user_message(NEXT), resume=[resolved(interrupt, {"confirmed": True})])

    assert status()["last_query"] == NEXT
    assert status()["last_response"]["result"] == {"content": "All done.\n\nHi"}


@pytest.mark.parametrize("call", [FRONTEND, CONFIRM])
def test_message_of_a_client_that_sends_only_what_is_new_is_answered(user: Api, call: Any):
    """Even one that was sent before in the same words."""
    talk = Talk(user)
    talk.run(user_message(NEXT))
    events = talk.run(user_message(to_make(call)))
    (call_id,), talk.messages = calls_of(events), []
    events = talk.run(result_of(call_id, {"confirmed": True}), user_message(NEXT))

    assert outline(events) == ["result", "All done.", "Hi"]


def test_message_is_answered_once_however_often_the_thread_is_sent(user: Api, scripted_llm: ModelServer):
    talk = Talk(user)
    (interrupt,) = interrupts_of(talk.run(user_message(to_make(CONFIRM))))
    resume = [resolved(interrupt, {"confirmed": True})]
    talk.run(user_message(NEXT), resume=resume)
    again = talk.run(resume=resume)
    assert outline(again) == []
    # With other ids, as clients send that number their messages anew.
    talk.messages = [{**message, "id": f"new-{uuid4()}"} for message in talk.messages]
    assert outline(talk.run(resume=resume)) == []

    assert len(prompts_asking(scripted_llm, NEXT)) == 1
    assert [content for role, content in talk.stored() if role == "user"].count(NEXT) == 1


def test_message_beside_an_answer_that_was_given_before_is_answered(user: Api):
    talk = Talk(user)
    (interrupt,) = interrupts_of(talk.run(user_message(to_make(CONFIRM))))
    resume = [resolved(interrupt, {"confirmed": True})]
    talk.run(resume=resume)
    events = talk.run(user_message(NEXT), resume=[*resume, {"interruptId": "never", "status": "cancelled"}])

    assert outline(events) == ["Hi"]
    assert talk.stored()[-2:] == [("user", NEXT), ("assistant", "Hi")]


def test_message_waits_while_the_work_before_it_waits_again(user: Api, scripted_llm: ModelServer):
    talk = Talk(user)
    (interrupt,) = interrupts_of(talk.run(user_message(to_make(CONFIRM))))
    second = f"One more thing. #calls {json.dumps([MAIL])}"
    waiting = talk.run(user_message(second), resume=[resolved(interrupt, {"confirmed": True})])
    assert outline(waiting) == ["result", "All done."]
    (interrupt,) = interrupts_of(waiting)
    events = talk.run(user_message(NEXT), resume=[resolved(interrupt, {"input": "a@example.com"})])

    assert outline(events) == ["result", "All done.", "Hi"]
    assert [content for role, content in talk.stored() if role == "user"][1:] == [second, NEXT]
    assert len(prompts_asking(scripted_llm, NEXT)) == 1


def test_message_whose_id_another_one_has_is_refused_and_the_answer_still_counts(user: Api):
    talk, asked = Talk(user), user_message(to_make(CONFIRM))
    (interrupt,) = interrupts_of(talk.run(asked))
    resume = [resolved(interrupt, {"confirmed": True})]
    talk.messages = []
    body = {
        "threadId": talk.thread_id,
        "runId": str(uuid4()),
        "messages": [{**asked, "content": NEXT}],
        "resume": resume,
    }
    refused = user.http.post("/agent", headers=user.headers, json=body)
    assert (refused.status_code, refused.json()["details"]["field"]) == (400, "messages")
    assert outline(talk.run(user_message(NEXT), resume=resume)) == ["result", "All done.", "Hi"]


def test_renumbered_history_is_stored_once(user: Api):
    talk = Talk(user)
    for text in ("First. #usage-null", "Again. #usage-null", "Again. #usage-null"):
        talk.run(user_message(text))
        # As clients do that number their messages anew when they are loaded.
        talk.messages = [{**message, "id": f"new-{uuid4()}"} for message in talk.messages]
    assert [content for role, content in talk.stored() if role == "user"] == [
        "First. #usage-null",
        "Again. #usage-null",
        "Again. #usage-null",
    ]


def test_renumbered_history_with_a_message_that_the_thread_lacks_gains_that_alone(user: Api):
    talk = Talk(user)
    for text in ("First. #usage-null", "Second. #usage-null"):
        talk.run(user_message(text))
    first, second = ({**message, "id": f"new-{uuid4()}"} for message in talk.messages)
    # From elsewhere, and a window of the history.
    talk.messages = [user_message("Elsewhere."), second]
    talk.run(user_message("Third. #usage-null"))
    talk.messages = [first]
    talk.run(user_message("Fourth. #usage-null"))
    texts = [content.split(".")[0] for role, content in talk.stored() if role == "user"]
    assert texts == ["First", "Second", "Elsewhere", "Third", "Fourth"]


def test_renumbered_history_is_no_message_beside_an_answer(user: Api):
    talk = Talk(user)
    talk.run(user_message("First. #usage-null"))
    (interrupt,) = interrupts_of(talk.run(user_message(to_make(CONFIRM))))
    talk.messages = [{**message, "id": f"new-{uuid4()}"} for message in talk.messages]
    events = talk.run(resume=[resolved(interrupt, {"confirmed": True})])

    assert outline(events) == ["result", "All done."]
    assert [role for role, _ in talk.stored()] == ["user", "assistant", "user", "assistant"]
