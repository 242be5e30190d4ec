"""Running a strategy in tests: inputs, events, and the verified wire events that they become."""

from collections.abc import Iterable, Sequence
from itertools import count

import httpx

from agents.agui.encoder import AguiEncoder
from agents.agui.json_patch import apply_patch
from agents.agui.verifier import verify
from agents.events import (
    Citations,
    RunEvent,
    TextDelta,
    TextEnded,
    ThoughtDelta,
    ToolCallResult,
    ToolCallStarted,
    WireEvent,
)
from agents.llm.config import ModelEndpoint
from agents.llm.extractive.model import ExtractiveModel
from agents.llm.openai import OpenAIModel
from agents.run_context import RunContext
from agents.strategies import start_strategy
from tests.agents.fakes import InMemoryRetriever, passage
from tests.fixtures.llm.model_server import ModelServer

THREAD, RUN = "thread-1", "run-1"
QUESTION = "Which port does the relay listen on, and how long are logs kept?"
RELAY = passage("The relay listens on port 7070. Its logs are kept for thirty days.", id="relay")
VAULT = passage("The vault keeps a backup. It is written every night at two.", id="vault")


def inputs(server: ModelServer, client: httpx.AsyncClient, model: str, **changes: object) -> RunContext:
    """A question to the scripted server; the relay's passage can be found."""
    endpoint = ModelEndpoint(server.base_url, model, backoff_seconds=0.01)
    given = {"question": QUESTION, "retriever": InMemoryRetriever((RELAY,)), **changes}
    return RunContext(model=OpenAIModel(endpoint, client), **given)  # type: ignore[arg-type]


def offline(question: str = QUESTION, **changes: object) -> RunContext:
    """A question to the offline model; the passages of the relay and the vault can be found."""
    given = {"question": question, "retriever": InMemoryRetriever((RELAY, VAULT)), **changes}
    return RunContext(model=ExtractiveModel(), **given)  # type: ignore[arg-type]


def to_wire(events: Iterable[RunEvent]) -> list[WireEvent]:
    clock = count(1_700_000_000_000)
    mapper = AguiEncoder(THREAD, RUN, now=lambda: next(clock))
    return [mapper.started(), *(wire for event in events for wire in mapper.translate(event))]


async def run(inputs: RunContext, agent_type: str = "agentic_rag") -> list[RunEvent]:
    """All events of the run; their wire form passes the verifier."""
    events = [event async for event in start_strategy(agent_type, inputs).events()]
    verify(to_wire(events), thread_id=THREAD, run_id=RUN, state=inputs.state)
    return events


def text_of(events: Sequence[RunEvent]) -> str:
    return "".join(event.delta for event in events if isinstance(event, TextDelta))


def results_of(events: Sequence[RunEvent]) -> list[str]:
    return [event.content for event in events if isinstance(event, ToolCallResult)]


def steps_of(events: Sequence[RunEvent]) -> list[str]:
    return [event.name for event in events if type(event).__name__ == "StepStarted"]


def only(events: Sequence[RunEvent], kind: type):
    found = [event for event in events if isinstance(event, kind)]
    assert len(found) == 1
    return found[0]


def ended_text(events: Sequence[RunEvent]) -> TextEnded:
    return [event for event in events if isinstance(event, TextEnded)][-1]


def citations_of(events: Sequence[RunEvent]) -> Citations:
    return only(events, Citations)


def state_of(events: Sequence[RunEvent]) -> dict:
    """The shared state at the end."""
    state = None
    for event in to_wire(events):
        if event["type"] == "STATE_SNAPSHOT":
            state = event["snapshot"]
        elif event["type"] == "STATE_DELTA":
            state = apply_patch(state, event["delta"])  # type: ignore[arg-type]
    assert isinstance(state, dict)
    return state


def thoughts_of(events: Sequence[RunEvent]) -> list[str]:
    thoughts: dict[str, str] = {}
    for event in events:
        if isinstance(event, ThoughtDelta):
            thoughts[event.message_id] = thoughts.get(event.message_id, "") + event.delta
    return list(thoughts.values())


def calls_of(events: Sequence[RunEvent]) -> list[str]:
    return [event.name for event in events if isinstance(event, ToolCallStarted)]
