"""Readers of run streams whose connections break anywhere: they get the whole log."""

import json
from contextlib import closing
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.agui.verifier import verify
from core.sse import ServerSentEvent, SseDecoder
from tests.fixtures.http.client import Api
from tests.fixtures.product.server import Server
from tests.fixtures.runs.agent_runs import RUN, camel, run_body

_FEW, _MANY = 8, 400
_HOW = ("Last-Event-ID", "after")
_CALLS: dict[str, list[Any]] = {
    "clock": ["current_time", {"timezone": "UTC"}],
    "unknown": ["telephone", {}],
    "wrong": ["current_time", {"timezone": 7}],
    "person": ["confirm_action", {"message": "Sure?"}],
}
said = st.one_of(
    st.integers(0, 3000).map(lambda count: f"#tokens-{count}"),
    st.lists(st.sampled_from(sorted(_CALLS)), min_size=1, max_size=4).map(
        lambda names: f"#calls {json.dumps([_CALLS[name] for name in names])}"
    ),
    st.sampled_from(["#reasoning", "#drop", "#react-loop", "#length", "#empty"]),
)
agent_types = st.sampled_from(["react", "agentic_rag", "plan_execute", "reflexion", "worker"])
# How many bytes are read before each break, and how the reader says where it was.
breaks = st.lists(st.tuples(st.integers(0, 5000), st.sampled_from(_HOW)), max_size=6)
# Before which connection the run is stopped, if it is.
stops = st.none() | st.integers(0, 3)


@pytest.fixture(scope="module")
def reader(_llm_product: Server) -> Api:
    """Somebody who asks the product with a language model."""
    return _llm_product.person()


class Reader:
    """A client that comes back to a run after each break.

    Attributes:
        frames: All that came whole, in order.
    """

    def __init__(self, api: Api, body: dict[str, Any]) -> None:
        self.frames: list[ServerSentEvent] = []
        self._api = api
        self._body = body
        self._has_begun = False

    def read(self, how: str, most_bytes: int | None) -> None:
        """Connect, read so many bytes or to the end, and hang up; half a frame is forgotten."""
        decoder, read = SseDecoder(), 0
        with self._connect(how) as response:
            assert response.status_code == httpx.codes.OK, response.read()
            with closing(response.iter_raw(most_bytes)) as pieces:
                for piece in pieces if most_bytes != 0 else ():
                    read += len(piece)
                    self.frames += decoder.feed(piece)
                    if most_bytes is not None and read >= most_bytes:
                        return

    def _connect(self, how: str) -> Any:
        headers, http = self._api.headers, self._api.http
        if not self._has_begun:
            self._has_begun = True
            return http.stream("POST", f"/api/v1{RUN}", headers=headers, json=self._body)
        path = f"/api/v1{RUN}/{self._body['runId']}/events"
        if not self.frames:
            return http.stream("GET", path, headers=headers)
        last = str(self.frames[-1].id)
        if how == "after":
            return http.stream("GET", path, headers=headers, params={"after": last})
        return http.stream("GET", path, headers={**headers, "Last-Event-ID": last})


def check(api: Api, body: dict[str, Any], cuts: list[tuple[int, str]], stop: int | None) -> list[dict[str, Any]]:
    """Read a run with breaks; what came is the log. Gives its events."""
    broken, whole = Reader(api, body), Reader(api, body)
    for number, (most_bytes, how) in enumerate(cuts):
        broken.read(how, most_bytes)
        if number == stop:
            api.post(f"{RUN}/{body['runId']}/stop")
    broken.read(_HOW[0], None)
    whole._has_begun = True
    whole.read(_HOW[0], None)
    ids = [f"{body['runId']}:{number}" for number in range(1, len(whole.frames) + 1)]
    assert [frame.id for frame in whole.frames] == ids
    assert broken.frames == whole.frames
    return [json.loads(frame.data) for frame in whole.frames]


def reconnects(api: Api, question: str, agent_type: str, cuts: list[tuple[int, str]], stop: int | None) -> None:
    props = {"agent_type": agent_type}
    body = camel(run_body(f"Go on. {question}", forwarded_props=props))
    events = check(api, body, cuts, stop)
    verify(events, thread_id=body["threadId"], run_id=body["runId"])
    outcome = events[-1].get("outcome") or {}
    if outcome.get("type") != "interrupt":
        return
    answers = [
        {"interruptId": one["id"], "status": "resolved", "payload": {"confirmed": True}}
        for one in outcome["interrupts"]
    ]
    fields = {"thread_id": body["threadId"], "messages": [], "forwarded_props": props}
    answering = {**camel(run_body("", **fields)), "resume": answers}
    verify([*events, *check(api, answering, cuts, stop)], thread_id=body["threadId"])


@settings(max_examples=_FEW)
@given(said, agent_types, breaks, stops)
def test_reader_who_reconnects_has_the_whole_log(reader, question, agent_type, cuts, stop):
    reconnects(reader, question, agent_type, cuts, stop)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@settings(max_examples=_MANY)
@given(said, agent_types, breaks, stops)
def test_many_readers_who_reconnect_have_the_whole_log(reader, question, agent_type, cuts, stop):
    reconnects(reader, question, agent_type, cuts, stop)
