"""The types of events that rules may be triggered by: declared, or learnt from what came."""

from datetime import UTC, datetime
from typing import Any

import pytest

from core.db.database import Database
from core.db.unit_of_work import unit_of_work
from core.errors.auth import EventSourceNotFound
from rules.models import SeenEventType
from tests.fixtures.http.client import Api, conforms
from tests.fixtures.product.server import Server
from tests.fixtures.rules.written_rules import JOIN, PATH, add_connection, developer

TYPES = f"{PATH}/event-types"
DOCUMENTED = {
    "event_types": [
        {
            "type": "player_join",
            "description": "玩家加入游戏",
            "schema": {"player": {"name": "string", "uuid": "string"}},
        }
    ]
}
MOMENT = datetime(2026, 2, 3, 9, 50, tzinfo=UTC)


@pytest.fixture
def user(server: Server) -> Api:
    return developer(server)


def add_type(server: Server, owner_id: str, source_id: str, **fields: Any) -> None:
    row = SeenEventType(
        **{
            "owner_id": owner_id,
            "source_id": source_id,
            "type": "player_join",
            "description": "玩家加入游戏",
            "shape": {"player": {"name": "string", "uuid": "string"}},
            "example": JOIN["data"],
            "count": 3,
            "seen_at": MOMENT,
            **fields,
        }
    )

    async def add(database: Database) -> None:
        async with unit_of_work(database) as work:
            work.session.add(row)

    server.work(add)


def test_event_types_of_the_contract_are_answered_as_documented(server: Server, user: Api):
    source_id = add_connection(server, user)
    assert user.get(TYPES, source_id=source_id) == {"event_types": [], "drops": []}
    add_type(server, user.user_id, source_id)
    add_type(server, user.user_id, source_id, type="player_leave", is_declared=True, count=0, seen_at=None)
    listed = user.get(TYPES, source_id=source_id)
    conforms(listed, DOCUMENTED)
    first, second = listed["event_types"]
    assert first == {
        **DOCUMENTED["event_types"][0],
        "source_id": source_id,
        "example": JOIN["data"],
        "declared": False,
        "count": 3,
        "last_seen_at": "2026-02-03T09:50:00Z",
    }
    assert (second["type"], second["declared"], second["last_seen_at"]) == ("player_leave", True, None)


def test_types_of_the_platform_are_described_in_both_languages(user: Api):
    listed = {item["type"]: item for item in user.get(TYPES, source_id="platform")["event_types"]}
    finished = listed["document.completed"]
    assert (finished["source_id"], finished["declared"]) == ("platform", True)
    assert finished["description"].isascii()
    assert finished["schema"]["document"]["name"] == "string"
    answer = user.request("GET", TYPES, params={"source_id": "platform"}, headers={"Accept-Language": "zh-CN"})
    chinese = {item["type"]: item["description"] for item in answer.json()["data"]["event_types"]}
    assert set(chinese) == set(listed)
    assert not any(text.isascii() for text in chinese.values())


def test_types_of_all_sources_and_of_nobody_elses(server: Server, user: Api):
    source_id = user.post(f"{PATH}/sources", {"name": "game"})["id"]
    add_type(server, user.user_id, source_id)
    sources = {item["source_id"] for item in user.get(TYPES)["event_types"]}
    assert sources == {"platform", source_id}
    other = developer(server)
    assert {item["source_id"] for item in other.get(TYPES)["event_types"]} == {"platform"}
    details = other.refused(EventSourceNotFound, "GET", TYPES, params={"source_id": source_id})
    assert details == {"field": "source_id"}
