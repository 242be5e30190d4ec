"""Events of the platform itself, from what happens to the message that a rule leaves."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.fixtures.http.client import Api, eventually
from tests.fixtures.product.server import Server
from tests.fixtures.rules.written_rules import PATH, developer
from tests.fixtures.servers.game_server import GameServer, game_server

ALLOWED = "/admin/system/config/allowed_private_targets"
QUOTA = "/admin/system/config/user_quota_bytes"
PATIENCE = 240


@pytest.fixture
def writer(server: Server) -> Api:
    return developer(server)


@pytest.fixture
def game(tmp_path, server: Server) -> Iterator[GameServer]:
    with game_server(tmp_path) as running:
        server.admin().put(ALLOWED, {"value": [f"127.0.0.1:{running.port}"]})
        yield running
    server.admin().delete(ALLOWED)


def write_rule(writer: Api, event_type: str, title: str, text: str) -> dict[str, Any]:
    notify = {"type": "notify", "params": {"title": title, "text": text, "level": "warning"}}
    return writer.post(PATH, {"name": event_type, "trigger_config": {"event_type": event_type}, "actions": [notify]})


def notices_of(writer: Api) -> list[tuple[str, str, str]]:
    items = writer.get("/notifications", page_size=100)["items"]
    return [(notice["level"], notice["title"], notice["text"]) for notice in items]


def test_owner_is_warned_before_the_quota_is_used_up(server: Server, writer: Api):
    kb_id = writer.create_kb()
    write_rule(writer, "quota.near", "Little room", "{{quota.used_bytes}} of {{quota.limit_bytes}}")
    used = len("# Zebra\n\nA zebra sleeps standing up.\n")
    writer.ingest(kb_id, "zebra.md", "# Zebra\n\nA zebra sleeps standing up.\n")
    assert notices_of(writer) == []
    # As an administrator sets it while the product runs: 90 % of it are used.
    limit = int(used / 0.9)
    server.admin().put(QUOTA, {"value": limit})
    try:
        eventually(lambda: notices_of(writer), what="the warning", seconds=PATIENCE)
        # However often the tables are read meanwhile, it is one warning a day.
        marker = write_rule(writer, "document.completed", "Read", "{{document.name}}")
        server.admin().put(QUOTA, {"value": limit + 1000})
        writer.ingest(kb_id, "gnu.md", "# Gnu\n\nA gnu walks far.\n")
        eventually(lambda: len(notices_of(writer)) > 1, what=marker["name"], seconds=PATIENCE)
    finally:
        server.admin().delete(QUOTA)
    assert sorted(notices_of(writer)) == [
        ("warning", "Little room", f"{used} of {limit}"),
        ("warning", "Read", "gnu.md"),
    ]


def test_account_that_has_room_is_not_warned(server: Server, writer: Api):
    kb_id = writer.create_kb()
    write_rule(writer, "quota.near", "Little room", "{{quota.used_bytes}}")
    write_rule(writer, "document.completed", "Read", "{{document.name}}")
    server.admin().put(QUOTA, {"value": 1000})
    try:
        writer.ingest(kb_id, "zebra.md", "# Zebra\n\nA zebra sleeps standing up.\n")
        eventually(lambda: notices_of(writer), what="the other rule", seconds=PATIENCE)
    finally:
        server.admin().delete(QUOTA)
    assert notices_of(writer) == [("warning", "Read", "zebra.md")]


def test_owner_learns_of_a_connection_that_is_lost(writer: Api, game: GameServer):
    connection = writer.post("/mcp/connections", game.connection)
    assert writer.post(f"/mcp/connections/{connection['id']}/test")["success"]
    write_rule(writer, "connection.lost", "Lost: {{connection.name}}", "{{connection.id}} {{connection.fault}}")
    game.stop()
    # Whoever tries it: here its owner, twice.
    for _ in range(2):
        assert not writer.post(f"/mcp/connections/{connection['id']}/test")["success"]
    expected = ("warning", f"Lost: {connection['name']}", f"{connection['id']} unreachable")
    eventually(lambda: notices_of(writer) == [expected], what="the message", seconds=PATIENCE)


def test_connection_that_a_rule_listens_to_is_lost_and_comes_back(writer: Api, game: GameServer):
    connection = writer.post("/mcp/connections", game.connection)
    path = f"/mcp/connections/{connection['id']}"
    assert writer.post(f"{path}/test")["success"]
    write_rule(writer, "connection.lost", "Lost: {{connection.name}}", "{{connection.fault}}")
    trigger = {"event_type": "player_join", "source_id": connection["id"]}
    greet = {"type": "notify", "params": {"title": "Hello", "text": "{{player.name}}"}}
    writer.post(PATH, {"name": "Greet", "trigger_config": trigger, "actions": [greet]})
    eventually(lambda: game.happen("nothing", {}) > 0, what="the game is heard", seconds=PATIENCE)
    game.stop()
    # Nobody tries it but the rule.
    expected = ("warning", f"Lost: {connection['name']}", "unreachable")
    eventually(lambda: expected in notices_of(writer), what="the message", seconds=PATIENCE)
    assert writer.get(path)["status"] == "error"
    game.start()
    eventually(lambda: game.happen("player_join", {"player": {"name": "Ada"}}), what="it is heard", seconds=PATIENCE)
    eventually(lambda: ("info", "Hello", "Ada") in notices_of(writer), what="the greeting", seconds=PATIENCE)
    eventually(lambda: writer.get(path)["status"] == "connected", what="it is seen to be back", seconds=PATIENCE)
