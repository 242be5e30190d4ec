"""Rules when processes are killed: each accepted event is acted on once, or reported."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.fixtures.http.client import Api, check_success, eventually
from tests.fixtures.product.server import Server
from tests.fixtures.rules.written_rules import PATH, developer, send_event
from tests.fixtures.servers.game_server import GameServer, game_server

pytestmark = pytest.mark.timeout(600)
EVENTS = 40
ALLOWED = "/admin/system/config/allowed_private_targets"


@pytest.fixture
def game(tmp_path, installation: Server) -> Iterator[GameServer]:
    with game_server(tmp_path) as running:
        installation.admin().put(ALLOWED, {"value": [f"127.0.0.1:{running.port}"]})
        yield running
    installation.admin().delete(ALLOWED)


def log_of(writer: Api, rule: dict[str, Any], **params: Any) -> list[dict[str, Any]]:
    return writer.get(f"{PATH}/{rule['id']}/logs", page_size=100, **params)["items"]


def send_until_accepted(server: Server, source: dict[str, Any], number: int) -> None:
    """As a sender that knows its events: sent again, with the same id, until it is answered."""

    def is_accepted() -> bool:
        event = {"type": "alarm", "id": f"alarm-{number}", "data": {"number": number}}
        try:
            return send_event(server.http, source, event).status_code == 200
        except httpx.TransportError:
            return False

    eventually(is_accepted, what=f"event {number} is accepted")


def test_accepted_events_are_acted_on_once_through_kills(installation: Server):
    writer = developer(installation)
    source = writer.post(f"{PATH}/sources", {"name": "Alarms"})
    rule = writer.post(
        PATH,
        {
            "name": "Alarm",
            "trigger_config": {"event_type": "alarm", "source_id": source["id"]},
            "actions": [{"type": "notify", "params": {"title": "Alarm {{number}}", "text": "Look at it."}}],
        },
    )
    with ThreadPoolExecutor(4) as pool:
        sending = [pool.submit(send_until_accepted, installation, source, number) for number in range(EVENTS)]
        for part in ("api", "worker", "engine", "api"):
            installation.kill(part)
        for sent in sending:
            sent.result()
    installation.wait_ready()
    eventually(lambda: len(log_of(writer, rule, status="success")) == EVENTS, what="all are acted on", seconds=180)
    notices = writer.get("/notifications", page_size=100)["items"]
    assert sorted(notice["title"] for notice in notices) == sorted(f"Alarm {number}" for number in range(EVENTS))
    assert len(log_of(writer, rule)) == EVENTS


def test_tool_call_during_which_the_api_died_is_reported_and_not_made_again(installation: Server, game: GameServer):
    writer = developer(installation)
    connection = writer.post("/mcp/connections", game.connection)
    assert writer.post(f"/mcp/connections/{connection['id']}/test")["success"]
    source = writer.post(f"{PATH}/sources", {"name": "Alarms"})
    action = {
        "type": "mcp_call",
        "target": "slow_broadcast",
        "connection_id": connection["id"],
        "params": {"message": "Alarm {{number}}", "seconds": 20},
    }
    rule = writer.post(
        PATH,
        {
            "name": "Alarm",
            "trigger_config": {"event_type": "alarm", "source_id": source["id"]},
            "actions": [action, {"type": "notify", "params": {"title": "Sent", "text": "Perhaps."}}],
        },
    )
    check_success(send_event(installation.http, source, {"type": "alarm", "data": {"number": 1}}))
    eventually(lambda: game.calls, what="the tool is called")
    installation.kill("api")
    installation.wait_ready()
    eventually(lambda: log_of(writer, rule, status="unknown"), what="the call is reported", seconds=120)
    (entry,) = log_of(writer, rule)
    assert [result["status"] for result in entry["actions_result"]] == ["unknown", "success"]
    assert game.calls == [{"tool": "slow_broadcast", "message": "Alarm 1"}]
