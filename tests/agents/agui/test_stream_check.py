"""The check of event streams while they are sent: its log lines, and that readers miss nothing by it."""

from typing import Any
from uuid import uuid4

import orjson
import pytest
from sqlalchemy import update
from sqlmodel import col

from agents.agui import stream_check
from agents.agui.decoder import read_run_request
from agents.llm.extractive.model import ExtractiveModel
from agents.models import LoggedEvent
from agents.runs.service import RunService
from core.auth.principal import Principal
from core.db.database import Database
from core.errors.server import DatabaseUnavailable
from tests.agents.runs.helpers import follow, register, service_of

pytestmark = pytest.mark.anyio
SECRET = "the vault's combination"


class Log:
    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []

    def error(self, event: str, **fields: Any) -> None:
        self.lines.append({"event": event, **fields})


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Log:
    log = Log()
    monkeypatch.setattr(stream_check, "log", log)
    return log


@pytest.fixture
async def principal(database: Database) -> Principal:
    return await register(database)


async def begin(runs: RunService, principal: Principal, **fields: Any) -> tuple[str, str]:
    """The key of a run, and its id."""
    body = {"threadId": "t", "runId": str(uuid4()), "messages": [], **fields}
    body["forwardedProps"] = {"agent_type": "react"}
    return await runs.start(principal, read_run_request(body)), body["runId"]


def saying(text: str) -> dict[str, Any]:
    return {"messages": [{"id": str(uuid4()), "role": "user", "content": text}]}


async def spoil(database: Database, run_key: str, *, seq: int) -> None:
    """Make an event one that nobody began."""
    event = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "none", "delta": SECRET}
    changed = update(LoggedEvent).where(col(LoggedEvent.run_id) == run_key, col(LoggedEvent.seq) == seq)
    async with database.writing() as session:
        await session.exec(changed.values(type=event["type"], payload=orjson.dumps(event).decode()))


async def test_first_fault_of_a_stream_is_logged_without_what_was_said(
    database: Database, principal: Principal, log: Log
):
    runs = service_of(database, ExtractiveModel(), checks=True)
    key, run_id = await begin(runs, principal, **saying("hello"))
    whole = await follow(runs, key)
    assert log.lines == []
    await spoil(database, key, seq=3)
    await spoil(database, key, seq=5)
    # As another process has it, which reads the log.
    spoilt = await follow(service_of(database, ExtractiveModel(), checks=True), key)

    assert len(spoilt) == len(whole)
    assert spoilt[2]["delta"] == SECRET
    assert log.lines == [
        {
            "event": "stream.violation",
            "run_id": run_id,
            "event_type": "TEXT_MESSAGE_CONTENT",
            "rule": "TEXT_MESSAGE_CONTENT for a text message that is not open",
        }
    ]


async def test_rest_of_a_stream_is_checked_with_what_was_before(database: Database, principal: Principal, log: Log):
    runs = service_of(database, ExtractiveModel(), checks=True)
    key, _ = await begin(runs, principal, **saying('/tool confirm_action {"message": "Sure?"}'))
    asked = await follow(runs, key)
    for place in range(1, len(asked)):
        await follow(runs, key, after=place)
    interrupt = asked[-1]["outcome"]["interrupts"][0]["id"]
    answer = {"interruptId": interrupt, "status": "cancelled"}
    key, _ = await begin(runs, principal, resume=[answer])
    await follow(runs, key)
    await runs.join(principal, "t")
    # The call that it answers was made in the run before.
    assert log.lines == []

    await spoil(database, key, seq=3)
    await follow(service_of(database, ExtractiveModel(), checks=True), key, after=2)
    assert [line["event"] for line in log.lines] == ["stream.violation"]


async def test_nothing_is_checked_unless_it_is_asked_for(database: Database, principal: Principal, log: Log):
    runs = service_of(database, ExtractiveModel())
    key, _ = await begin(runs, principal, **saying("hello"))
    await follow(runs, key)
    await spoil(database, key, seq=3)
    await follow(service_of(database, ExtractiveModel()), key)

    assert log.lines == []


async def test_reader_is_served_unchecked_when_the_database_is_lost_at_its_beginning(
    database: Database, principal: Principal, monkeypatch: pytest.MonkeyPatch
):
    runs = service_of(database, ExtractiveModel(), checks=True)
    key, _ = await begin(runs, principal, **saying("hello"))

    async def lost(*_: object) -> None:
        raise DatabaseUnavailable

    monkeypatch.setattr(stream_check, "_behind", lost)
    assert (await follow(runs, key))[-1]["type"] == "RUN_FINISHED"
