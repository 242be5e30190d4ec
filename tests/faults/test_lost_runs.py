"""Runs of an API process killed in the middle of calls and questions, recovered by others.

Three API processes share one database. One is killed while its runs are at different places, the
other two take up what it lost at the same moment. Each test looks at one of these runs.
"""

import json
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from threading import Barrier
from typing import Any
from uuid import uuid4

import httpx
import pytest

from agents.agui.verifier import verify
from agents.strategies.shared.tool_calls import UNKNOWN_OUTCOME
from api.lifespan import _REAP_SECONDS
from core.errors.conflicts import InterruptNotOpen, ThreadBusy
from tests.fixtures.http.client import Api, check_error, eventually
from tests.fixtures.http.event_streams import events_in, events_of, read_log
from tests.fixtures.llm.model_server import ModelServer
from tests.fixtures.product.api_processes import ApiProcesses, api_processes, same_caller
from tests.fixtures.product.server import Server
from tests.fixtures.runs.agent_runs import Run, camel, model_variables, run_body
from tests.fixtures.servers.external_services import Postgres

EVENT = {
    "action": "create",
    "event_timezone": "UTC",
    "title": "event",
    "start": "2026-12-01T10:00",
}
REACT = {"agent_type": "react"}


def run_with_calls(*calls: tuple[str, dict[str, Any]], **fields: Any) -> dict[str, Any]:
    """A run whose model makes these calls in its first turn."""
    question = f"Please. #calls {json.dumps(calls)}"
    return camel(run_body(question, forwarded_props=REACT, **fields))


def answer_to(asked: dict[str, Any], interrupt: dict[str, Any], payload: Any) -> dict[str, Any]:
    """The run that brings the answer to what another one asked."""
    answer = {"interruptId": interrupt["id"], "status": "resolved", "payload": payload}
    fields = {"thread_id": asked["threadId"], "messages": [], "forwarded_props": REACT}
    return {**camel(run_body("", **fields)), "resume": [answer]}


def results_of(events: list[dict[str, Any]]) -> list[str]:
    return [event["content"] for event in events if event["type"] == "TOOL_CALL_RESULT"]


def interrupt_of(events: list[dict[str, Any]]) -> dict[str, Any]:
    assert events[-1]["outcome"]["type"] == "interrupt", events[-1]
    (interrupt,) = events[-1]["outcome"]["interrupts"]
    return interrupt


@dataclass
class Lost:
    """What the killed process left.

    Args:
        apis: all processes.
        left: those that live.
        user: whose runs they are, at one of these.
        cut: the runs whose streams were cut, by name.
        asked: the runs and the task that waited for a person, with what was asked.
        turns: how often the model was asked, by question.
    """

    apis: ApiProcesses
    left: tuple[Server, Server]
    user: Api
    cut: dict[str, Run]
    asked: dict[str, dict[str, Any]]
    turns: Counter[str]

    def whole(self, name: str) -> list[dict[str, Any]]:
        """The log of a run whose stream was cut: a reader who comes back misses nothing."""
        run = self.cut[name]
        frames = read_log(self.user, run.body["runId"])
        events = events_of(frames)
        assert [frame.id for frame in frames] == [
            f"{run.body['runId']}:{number}" for number in range(1, len(frames) + 1)
        ]
        for api in (self.user, same_caller(self.user, self.left[1])):
            last = {"Last-Event-ID": str(run.frames[-1].id)}
            rest = read_log(api, run.body["runId"], headers=last)
            assert [*run.frames, *rest] == frames
        # A call that waited was begun in the run before.
        before = self.asked[name]["events"] if name in self.asked else []
        verify([*before, *events], thread_id=run.body["threadId"])
        return events

    def takeovers(self, name: str) -> int:
        """How often a run was taken up."""
        query = "SELECT takeovers FROM agent_run WHERE run_id = :id"
        return self.left[0].sql(query, id=self.cut[name].body["runId"])[0]["takeovers"]


@pytest.fixture(scope="module")
def apis(
    tmp_path_factory: pytest.TempPathFactory,
    postgres_if_any: Postgres | None,
    _model_server: ModelServer,
) -> Iterator[ApiProcesses]:
    """A database, PostgreSQL where there is one, for API processes that share it."""
    variables = model_variables(_model_server)
    with ExitStack() as stack:
        if postgres_if_any is not None:
            url = variables["AGENTEX_DATABASE_URL"] = postgres_if_any.create()
            stack.callback(postgres_if_any.drop, url)
        folder = tmp_path_factory.mktemp("apis")
        yield stack.enter_context(api_processes(folder, variables))


@pytest.fixture(scope="module")
def lost(apis: ApiProcesses, _model_server: ModelServer) -> Lost:
    """Runs of a process that was killed, which two others took up, racing for each."""
    first, *others = (apis.start(wait=False) for _ in range(3))
    for server in (first, *others):
        apis.wait_up(server)
    user = first.person()
    bodies = {
        "lookup": run_with_calls(("read_letter", {"what": "lookup"})),
        "letters": run_with_calls(("post_letter", {"what": "one"}), ("post_letter", {"what": "two"})),
        "event": run_with_calls(("calendar_write", EVENT)),
    }
    with ExitStack() as stack:
        asked = {name: ask_first(user, name) for name in ("agui", "approved")}
        bodies["approved"] = answer_to(asked["approved"], asked["approved"]["interrupt"], {"approved": True})
        cut = {name: stack.enter_context(Run(user, body)) for name, body in bodies.items()}
        asked["task"] = invoke_first(user, "task")
        for run in cut.values():
            run.until("STATE_SNAPSHOT" if "resume" in run.body else "TOOL_CALL_END")
        wait_until_held(apis, user)
        for server in others:
            stack.enter_context(server.frozen())
        apis.kill(first)
        for run in cut.values():
            with pytest.raises(httpx.HTTPError):
                run.finish()
        # Stopped for longer than a round of their sweeps: both look for lost runs as they wake up.
        time.sleep(_REAP_SECONDS)
        others[0].sql("UPDATE agent_run SET lease_until = '2026-01-01' WHERE status = 'running'")
        apis.release("lookup", "one", "two", "event", "approved")
    user = same_caller(user, others[0])
    for run in cut.values():
        read_log(user, run.body["runId"])
    turns = Counter(question_of(request.messages) for request in _model_server.requests)
    return Lost(apis, (others[0], others[1]), user, cut, asked, turns)


def question_of(messages: list[dict[str, Any]]) -> str:
    return next(message["content"] for message in messages if message["role"] == "user")


def ask_first(user: Api, what: str) -> dict[str, Any]:
    """A run that waits for a person, with what it asked."""
    body = run_with_calls(("post_parcel", {"what": what}))
    with Run(user, body) as run:
        events = run.finish()
    return {**body, "events": events, "interrupt": interrupt_of(events)}


def invoke_first(user: Api, what: str) -> dict[str, str]:
    """A task of seed 003 that waits for a person."""
    session = user.post("/sessions", {"config": REACT})["id"]
    ids = {"user_id": user.name, "session_id": session, "task_id": str(uuid4())}
    query = f"Please. #calls {json.dumps([['post_parcel', {'what': what}]])}"
    begun = user.http.post("/agent/invoke", headers=user.headers, json={**ids, "query": query})
    assert begun.status_code == httpx.codes.OK, begun.text
    wait_for_task(user, ids, "interrupted")
    return ids


def task_of(user: Api, ids: dict[str, str]) -> dict[str, Any]:
    path = "/agent/status/{user_id}/{session_id}/{task_id}".format(**ids)
    return user.http.get(path, headers=user.headers).json()


def wait_for_task(user: Api, ids: dict[str, str], status: str) -> dict[str, Any]:
    eventually(lambda: task_of(user, ids)["status"] == status, what=f"the task is {status}")
    return task_of(user, ids)


def wait_until_held(apis: ApiProcesses, user: Api) -> None:
    """Until every call is at the place where its process is killed."""

    def are_held() -> bool:
        made = {tool: apis.posted(tool) for tool in ("read_letter", "post_letter", "post_parcel")}
        return (
            made
            == {
                "read_letter": ["lookup"],
                "post_letter": ["one"],
                "post_parcel": ["approved"],
            }
            and len(user.get("/calendar/events")["items"]) == 1
        )

    eventually(are_held, what="every call is being made")


def test_call_that_may_be_repeated_is_repeated_and_told_once(lost: Lost):
    events = lost.whole("lookup")

    assert results_of(events) == ["Done: lookup."]
    assert "outcome" not in events[-1]
    assert lost.apis.posted("read_letter") == ["lookup", "lookup"]


def test_call_with_a_side_effect_is_not_repeated_and_one_not_begun_is_made(lost: Lost):
    events = lost.whole("letters")

    assert results_of(events) == [UNKNOWN_OUTCOME, "Done: two."]
    assert "outcome" not in events[-1]
    assert lost.apis.posted("post_letter") == ["one", "two"]


def test_call_of_a_calendar_is_carried_out_once(lost: Lost):
    events = lost.whole("event")

    (told,) = map(json.loads, results_of(events))
    # The process died after it had written the event and before it could say so.
    assert (told["status"], told["repeated"]) == ("created", True)
    (made,) = lost.user.get("/calendar/events")["items"]
    assert (made["id"], made["title"]) == (told["id"], "event")


def test_call_that_a_person_agreed_to_is_not_made_again(lost: Lost):
    events = lost.whole("approved")

    assert results_of(events) == [UNKNOWN_OUTCOME]
    assert "outcome" not in events[-1]
    assert lost.apis.posted("post_parcel").count("approved") == 1


@pytest.mark.parametrize("name", ["lookup", "letters", "event", "approved"])
def test_one_of_two_processes_takes_a_lost_run_up(lost: Lost, name: str):
    lost.whole(name)

    assert lost.takeovers(name) == 1
    asked = lost.asked.get(name, lost.cut[name].body)
    # Once for the calls, once for the answer: what the dead process was told is not asked again.
    assert lost.turns[question_of(asked["messages"])] == 2


def test_question_of_a_killed_process_is_answered_through_ag_ui(lost: Lost):
    asked = lost.asked["agui"]
    thread = {"threadId": asked["threadId"]}
    joined = lost.user.http.post("/agent/connect", headers=lost.user.headers, json=thread)
    interrupt = interrupt_of(events_in(joined))
    assert interrupt == asked["interrupt"]

    lost.apis.release("agui")
    log = asked["events"]
    # The client can't know whether its first answer came through.
    for results in (["Done: agui."], []):
        with Run(lost.user, answer_to(asked, interrupt, {"approved": True})) as run:
            events = run.finish()
        log = [*log, *events]
        verify(log, thread_id=asked["threadId"])
        assert (results_of(events), events[-1].get("outcome")) == (results, None)
    assert lost.apis.posted("post_parcel").count("agui") == 1


def test_question_of_a_killed_process_is_answered_through_its_task(lost: Lost):
    ids = lost.asked["task"]
    (interrupt,) = task_of(lost.user, ids)["last_response"]["interrupt_data"]["interrupts"]
    assert interrupt["metadata"]["arguments"] == {"what": "task"}
    lost.apis.release("task")
    assert resume_task(lost.user, ids, "accept").status_code == httpx.codes.OK
    done = wait_for_task(lost.user, ids, "completed")
    assert "All done." in done["last_response"]["result"]["content"]
    check_error(resume_task(lost.user, ids, "accept"), InterruptNotOpen)
    assert lost.apis.posted("post_parcel").count("task") == 1


def resume_task(user: Api, ids: dict[str, str], kind: str) -> httpx.Response:
    body = {**ids, "response_type": kind}
    return user.http.post("/agent/resume", headers=user.headers, json=body)


def answer_at_once(
    lost: Lost, asked: dict[str, Any], what: str, payloads: tuple[Any, Any]
) -> list[tuple[httpx.Response, list[dict[str, Any]]]]:
    """What two processes made of answers to the same question, and the events where it was taken."""
    sent, answered = Barrier(2, timeout=60), Barrier(2, timeout=60)

    def answer(server: Server, payload: Any) -> tuple[httpx.Response, list[dict[str, Any]]]:
        body = answer_to(asked, asked["interrupt"], payload)
        sent.wait()
        with Run(same_caller(lost.user, server), body) as run:
            # The call is held until both have got their answer.
            answered.wait()
            lost.apis.release(what, f"{what} edited")
            if run.response.status_code != httpx.codes.OK:
                run.response.read()
                return run.response, []
            events = run.finish()
        verify([*asked["events"], *events], thread_id=asked["threadId"])
        return run.response, events

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(answer, lost.left, payloads))


@pytest.mark.parametrize("kind", ["the same", "another"])
def test_one_of_two_answers_at_once_counts(lost: Lost, kind: str):
    for number in range(2):
        what = f"{kind} {number}"
        given = what if kind == "the same" else f"{what} edited"
        payloads = ({"approved": True}, {"approved": True, "editedArgs": {"what": given}})
        answers = answer_at_once(lost, ask_first(lost.user, what), what, payloads)
        ((events, done),) = ((events, done) for (_, events), done in zip(answers, (what, given), strict=True) if events)
        (refused,) = (response for response, events in answers if not events)
        check_error(refused, ThreadBusy)
        assert results_of(events) == [f"Done: {done}."]
        made = [one for one in lost.apis.posted("post_parcel") if one.startswith(what)]
        assert made == [done]


def test_one_of_two_answers_to_a_task_at_once_counts(lost: Lost):
    for number in range(2):
        what = f"task {number}"
        ids = invoke_first(lost.user, what)
        callers = [same_caller(lost.user, server) for server in lost.left]
        sent = Barrier(2, timeout=60)

        def accept(caller: Api, ids: dict[str, str] = ids, sent: Barrier = sent) -> httpx.Response:
            sent.wait()
            return resume_task(caller, ids, "accept")

        with ThreadPoolExecutor(2) as pool:
            taken, refused = sorted(pool.map(accept, callers), key=lambda one: one.status_code)
        lost.apis.release(what)
        assert (taken.status_code, refused.status_code) == (200, 409), refused.text
        assert refused.json()["code"] in {ThreadBusy.code, InterruptNotOpen.code}
        wait_for_task(lost.user, ids, "completed")
        assert lost.apis.posted("post_parcel").count(what) == 1
