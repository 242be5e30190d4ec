"""Runs of agents while the processes under them are killed, stopped and ended."""

import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from agents.agui.verifier import verify
from tests.fixtures.http.client import Api, eventually
from tests.fixtures.llm.model_server import ModelServer
from tests.fixtures.product.server import Server
from tests.fixtures.runs.agent_runs import GUIDE, RUN, Run, ask, camel, run_body, text_of

# The lease of a run, the pause between sweeps, and a slow machine.
_LOST_SECONDS = 60


@pytest.fixture
def user(llm_product: Server) -> Api:
    """Somebody who asks the product with a language model."""
    return llm_product.person()


@contextmanager
def slow_run(user: Api, **fields: Any) -> Iterator[Run]:
    """A run whose model has said ``Hel`` and waits."""
    with Run(user, camel(run_body("Hello #slow", **fields))) as streaming:
        streaming.until("TEXT_MESSAGE_CONTENT")
        yield streaming


def log_of(server: Server, run_id: str) -> list[dict[str, Any]]:
    rows = server.sql(
        "SELECT e.seq, e.payload FROM logged_event e JOIN agent_run r ON r.id = e.run_id "
        "WHERE r.run_id = :run_id ORDER BY e.seq",
        run_id=run_id,
    )
    assert [row["seq"] for row in rows] == list(range(1, len(rows) + 1))
    return [json.loads(row["payload"]) for row in rows]


def answers_of(user: Api, thread_id: str) -> list[dict[str, Any]]:
    return user.get(f"/sessions/{thread_id}/messages")["items"][1:]


def kinds_of(server: Server, run_id: str) -> list[str]:
    return [event["type"] for event in log_of(server, run_id)]


def test_run_of_a_killed_api_is_taken_up_and_finished(llm_product: Server, user: Api, scripted_llm: ModelServer):
    with slow_run(user) as streaming:
        body = streaming.body
        llm_product.kill("api")
        with pytest.raises(httpx.HTTPError):
            streaming.finish()
    llm_product.wait_ready()

    def is_said_again() -> bool:
        kinds = kinds_of(llm_product, body["runId"])
        return "MESSAGES_SNAPSHOT" in kinds and kinds[-1] == "TEXT_MESSAGE_CONTENT"

    eventually(is_said_again, seconds=_LOST_SECONDS, what="the lost run is taken up")
    scripted_llm.release.set()

    def is_over() -> bool:
        return kinds_of(llm_product, body["runId"])[-1] == "RUN_FINISHED"

    eventually(is_over, what="the run that was taken up ends")
    events = log_of(llm_product, body["runId"])
    verify(events, thread_id=body["threadId"], run_id=body["runId"])
    assert "outcome" not in events[-1]
    (answer,) = answers_of(user, body["threadId"])
    assert (answer["content"], answer["metadata"].get("stopped")) == ("Hello", None)
    again = ask(user, "And now? #plain", thread_id=body["threadId"])
    assert text_of(again) == "Hello from the model."


def test_run_of_a_killed_api_can_be_stopped_at_once(llm_product: Server, user: Api):
    with slow_run(user) as streaming:
        body = streaming.body
        llm_product.kill("api")
    llm_product.wait_ready()
    started = time.monotonic()
    assert user.post(f"{RUN}/{body['runId']}/stop")["stopped"] is True

    # Its lease would have lasted longer.
    assert time.monotonic() - started < 10
    events = log_of(llm_product, body["runId"])
    verify(events)
    assert events[-1]["outcome"] == {"type": "cancelled"}
    assert answers_of(user, body["threadId"])[0]["content"] == "Hel"


def end_api(server: Server) -> int:
    pid = server.parts["api"]["pid"]
    os.kill(pid, signal.SIGTERM)
    return pid


def wait_restarted(server: Server, pid: int) -> None:
    eventually(lambda: server.parts["api"]["pid"] not in {None, pid}, what="api again")
    server.wait_ready()


def test_run_goes_on_in_the_next_api_when_this_one_is_told_to_end(
    llm_product: Server, user: Api, scripted_llm: ModelServer
):
    with slow_run(user) as streaming:
        body = streaming.body
        pid = end_api(llm_product)
        # The stream is closed properly, without an end of the run.
        events = streaming.finish()
    wait_restarted(llm_product, pid)
    assert events[-1]["type"] == "TEXT_MESSAGE_CONTENT"
    scripted_llm.release.set()

    def is_over() -> bool:
        return kinds_of(llm_product, body["runId"])[-1] == "RUN_FINISHED"

    eventually(is_over, seconds=_LOST_SECONDS, what="the run that was handed over ends")
    log = log_of(llm_product, body["runId"])
    verify(log, thread_id=body["threadId"], run_id=body["runId"])
    assert log[: len(events)] == events
    assert answers_of(user, body["threadId"])[0]["content"] == "Hello"


def test_run_is_finished_when_it_is_quick_enough_for_the_end_of_the_api(
    llm_product: Server, user: Api, scripted_llm: ModelServer
):
    with slow_run(user) as streaming:
        pid = end_api(llm_product)

        def is_closed() -> bool:
            try:
                return llm_product.http.get("/healthz").status_code != httpx.codes.OK
            except httpx.TransportError:
                return True

        eventually(is_closed, what="the API takes no more requests")
        scripted_llm.release.set()
        events = streaming.finish()
    wait_restarted(llm_product, pid)

    assert text_of(events) == "Hello"
    assert events[-1].get("outcome") is None


def test_search_of_a_hanging_engine_is_stopped(llm_product: Server, user: Api):
    kb_id = user.create_kb()
    user.ingest(kb_id, "relay.md", GUIDE)
    props = {"knowledge_base_ids": [kb_id]}
    engine = llm_product.parts["engine"]["pid"]
    os.kill(engine, signal.SIGSTOP)
    try:
        with Run(user, camel(run_body("Which port? #rag", forwarded_props=props))) as streaming:
            streaming.until("TOOL_CALL_END")
            started = time.monotonic()
            assert user.post(f"{RUN}/{streaming.body['runId']}/stop")["stopped"] is True
            events = streaming.finish()
            took = time.monotonic() - started
    finally:
        os.kill(engine, signal.SIGCONT)
    llm_product.wait_ready()

    # The search itself would be given up after ten seconds.
    assert took < 8
    verify(events)
    assert events[-1]["outcome"] == {"type": "cancelled"}


def test_run_does_not_need_redis(llm_product: Server, user: Api, scripted_llm: ModelServer):
    with slow_run(user) as streaming:
        llm_product.kill("redis")
        scripted_llm.release.set()
        events = streaming.finish()
    llm_product.wait_ready()

    verify(events)
    assert text_of(events) == "Hello"


def test_callers_that_come_and_go_leave_the_api_well(llm_product: Server, user: Api, scripted_llm: ModelServer):
    api_log = llm_product.settings.data_dir / "logs" / "api.log"
    before = len(api_log.read_text())
    bodies = [camel(run_body("Hello #slow")) for _ in range(12)]
    for body in bodies:
        with Run(user, body) as streaming:
            streaming.until("RUN_STARTED")
    scripted_llm.release.set()

    def are_answered() -> bool:
        answers = [answers_of(user, body["threadId"]) for body in bodies]
        return all(answer and answer[0]["content"] == "Hello" for answer in answers)

    eventually(are_answered, what="every run is finished")
    assert "Traceback" not in api_log.read_text()[before:]
