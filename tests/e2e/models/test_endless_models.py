"""Language models that never end: each run ends within its bounds, and others go on."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import httpx
import psutil
import pytest

from tests.fixtures.http.client import Api
from tests.fixtures.http.event_streams import events_in
from tests.fixtures.llm.model_server import ModelServer
from tests.fixtures.product.api_processes import ApiProcesses, same_caller
from tests.fixtures.product.server import Server
from tests.fixtures.runs.agent_runs import camel, run_body, text_of, verified_run

_LIMITS = {
    "AGENTEX_RUN_TIMEOUT_SECONDS": "10",
    "AGENTEX_RUN_MAX_TOKENS": "20000",
    "AGENTEX_RUN_MAX_TURNS": "4",
}
_MOST_GROWTH_BYTES = 100 * 2**20
# Script and agent type: what ended the run.
_ENDS = {
    ("endless-text", "react"): "tokens",
    ("endless-text", "agentic_rag"): "tokens",
    ("endless-text", "plan_execute"): "tokens",
    ("endless-text", "reflexion"): "tokens",
    ("endless-text", "worker"): "tokens",
    ("endless-reasoning", "react"): "tokens",
    ("endless-reasoning", "agentic_rag"): "tokens",
    ("endless-arguments", "react"): "tokens",
    ("endless-calls", "react"): "tokens",
    # A different call each time, and the same one.
    ("react-busy", "react"): "turns",
    ("react-loop", "react"): "repeats",
    # Silence, and a line that is only kept alive.
    ("react-forever", "react"): "time",
    ("react-forever", "agentic_rag"): "time",
    ("alive", "react"): "time",
}


@dataclass(frozen=True)
class Ended:
    """What became of all those runs at once.

    Args:
        user: whose they were.
        events: of each run; they pass the verifier.
        growth: of the API's memory, in bytes.
    """

    user: Api
    events: dict[tuple[str, str], list[dict[str, Any]]]
    growth: int


@pytest.fixture(scope="module")
def ended(standalone_apis: ApiProcesses, _model_server: ModelServer) -> Iterator[Ended]:
    """Every run of the table, side by side: some take all the time they have."""
    server = standalone_apis.start(**_LIMITS)
    user = server.person()
    ask(user, ("plain", "react"))
    _model_server.release.clear()
    before = memory_of(server)
    with ThreadPoolExecutor(len(_ENDS)) as pool:
        events = dict(zip(_ENDS, pool.map(lambda kind: ask(user, kind), _ENDS), strict=True))
    yield Ended(user, events, memory_of(server) - before)
    standalone_apis.stop(server)


def ask(user: Api, kind: tuple[str, str]) -> list[dict[str, Any]]:
    script, agent_type = kind
    return verified_run(user, f"Go on? #{script}", forwarded_props={"agent_type": agent_type})


def memory_of(server: Server) -> int:
    return psutil.Process(server.process.pid).memory_info().rss


@pytest.mark.parametrize("kind", _ENDS, ids="-".join)
def test_run_of_a_model_that_never_ends_is_ended(ended: Ended, kind: tuple[str, str]):
    events, end = ended.events[kind], _ENDS[kind]

    assert events[-1]["type"] == "RUN_FINISHED"
    said = [event for event in events if event["type"] == "TEXT_MESSAGE_END"][-1]
    assert said["metadata"]["ended_by"] == end
    assert "This answer is incomplete" in text_of(events)


def test_model_that_never_ends_fills_neither_memory_nor_log(ended: Ended):
    assert ended.growth < _MOST_GROWTH_BYTES
    # One turn may say as much as the whole run may use, and so may the answer after it.
    sizes = {kind: len(str(events)) for kind, events in ended.events.items()}
    assert max(sizes.values()) < 1_000_000, sizes


def test_api_answers_others_after_models_that_never_end(ended: Ended):
    assert text_of(ask(ended.user, ("plain", "react"))) == "Hello from the model."


def test_001_error_code_timeout(standalone_apis: ApiProcesses, ended: Ended):
    """Seed 001: no time is left even for a partial answer."""
    server = standalone_apis.start(AGENTEX_RUN_TIMEOUT_SECONDS="0.001")
    hurried = same_caller(ended.user, server)
    body = camel(run_body("Go on? #react-forever", forwarded_props={"agent_type": "react"}))
    answer = hurried.http.post("/agent", headers=hurried.headers, json=body)

    last = events_in(answer)[-1]
    assert (last["type"], last["code"]) == ("RUN_ERROR", "RUN_TIMED_OUT")
    assert last["error"] == {"code": "TIMEOUT", "message": last["message"]}
    assert hurried.http.get("/healthz").status_code == httpx.codes.OK
    standalone_apis.stop(server)
