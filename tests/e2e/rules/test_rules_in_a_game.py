"""The contract's rules end to end: a game tells what happens over a WebSocket, and its own tools answer."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.fixtures.http.client import Api
from tests.fixtures.product.processes import wait_until
from tests.fixtures.product.server import Server, one_shape
from tests.fixtures.rules.written_rules import PATH, developer, low_health, welcome
from tests.fixtures.servers.game_server import GameServer, game_server

ALLOWED = "/admin/system/config/allowed_private_targets"


@pytest.fixture
def game(tmp_path) -> Iterator[GameServer]:
    with game_server(tmp_path) as running:
        yield running


@pytest.fixture
def player(server: Server, game: GameServer) -> Iterator[Api]:
    server.admin().put(ALLOWED, {"value": [f"127.0.0.1:{game.port}"]})
    yield developer(server)
    server.admin().delete(ALLOWED)


@pytest.fixture
def connection(player: Api, game: GameServer) -> str:
    made = player.post("/mcp/connections", game.connection)
    tested = player.post(f"/mcp/connections/{made['id']}/test")
    assert tested["success"], tested
    return made["id"]


def log_of(player: Api, rule: dict[str, Any], **params: Any) -> list[dict[str, Any]]:
    return player.get(f"{PATH}/{rule['id']}/logs", **params)["items"]


def wait_until_heard(game: GameServer, player: Api, connection: str) -> None:
    """Wait until the rules hear the game, which begins a moment after the first rule names it."""

    def is_heard() -> bool:
        game.happen("nothing", {})
        seen = player.get(f"{PATH}/event-types", source_id=connection)["event_types"]
        return any(found["type"] == "nothing" for found in seen)

    wait_until(is_heard)


def join(name: str) -> dict[str, Any]:
    return {"player": {"name": name, "uuid": "1", "health_percent": 100}}


def test_player_is_welcomed_once_within_the_cooldown(game: GameServer, player: Api, connection: str):
    rule = player.post(PATH, welcome(connection))
    wait_until_heard(game, player, connection)
    game.happen("player_join", join("admin"))
    game.happen("player_join", join("Steve"))
    wait_until(lambda: game.calls)
    game.happen("player_join", join("Alex"))
    wait_until(lambda: [entry["status"] for entry in log_of(player, rule)][:1] == ["cooldown"])
    assert game.calls == [{"tool": "chat_broadcast", "message": "欢迎 Steve 进入游戏！", "color": "green"}]
    (done,) = log_of(player, rule, status="success")
    assert done["event_data"] == join("Steve")
    assert done["conditions_met"] is True
    assert done["actions_result"][0]["status"] == "success"
    seen = player.get(f"{PATH}/event-types", source_id=connection)["event_types"]
    assert {found["type"]: found["schema"]["player"]["name"] for found in seen if found["type"] != "nothing"} == {
        "player_join": "string"
    }
    assert player.get(f"{PATH}/{rule['id']}")["trigger_count"] == 1


def test_player_of_low_health_is_warned(game: GameServer, player: Api, connection: str):
    rule = player.post(PATH, low_health(connection))
    hurt = {"player": {"name": "Steve", "health_percent": 19.5}}
    wait_until_heard(game, player, connection)
    game.happen("player_damage", {"player": {"name": "Steve", "health_percent": 20}})
    game.happen("player_damage", hurt)
    wait_until(lambda: log_of(player, rule, status="success"))
    assert game.calls == [{"tool": "chat_send_player", "playerName": "Steve", "message": "⚠️ 警告：你的血量低于20%！"}]


@one_shape
def test_event_that_the_game_repeats_is_one_event(game: GameServer, player: Api, connection: str):
    rule = player.post(PATH, welcome(connection, cooldown=0))
    wait_until_heard(game, player, connection)
    for _ in range(3):
        game.happen("player_join", join("Steve"), id="join-1")
    game.happen("player_join", join("Alex"), id="join-2")
    wait_until(lambda: len(log_of(player, rule, status="success")) == 2)
    assert [call["message"] for call in game.calls] == ["欢迎 Steve 进入游戏！", "欢迎 Alex 进入游戏！"]


@one_shape
def test_flood_of_events_is_taken_in_order_and_nothing_is_lost(game: GameServer, player: Api, connection: str):
    counting = {
        "name": "Count",
        "trigger_config": {"event_type": "block_broken", "source_id": connection},
        "conditions": [{"field": "number", "operator": "in", "value": [0, 2999]}],
        "actions": [{"type": "notify", "params": {"title": "Block {{number}}", "text": "Broken"}}],
    }
    rule = player.post(PATH, counting)
    wait_until_heard(game, player, connection)
    game.happen("block_broken", {"by": "Steve"}, times=3000)
    wait_until(lambda: len(log_of(player, rule, status="success")) == 2)
    seen = player.get(f"{PATH}/event-types", source_id=connection)["event_types"]
    assert [found["count"] for found in seen if found["type"] == "block_broken"] == [3000]
    assert [entry["actions_result"][0]["status"] for entry in log_of(player, rule, status="success")] == ["success"] * 2
    titles = [item["title"] for item in player.get("/notifications")["items"]]
    assert titles == ["Block 2999", "Block 0"]


@one_shape
def test_events_that_can_not_be_kept_are_counted(game: GameServer, player: Api, connection: str):
    player.post(PATH, welcome(connection))
    wait_until_heard(game, player, connection)
    game.happen("", join("Steve"))
    game.happen("x" * 201, join("Steve"))
    game.happen("player_join", {"player": {"name": "x" * 300_000}})
    game.happen("player_join", join("Steve"))

    def drops() -> dict[str, int]:
        listed = player.get(f"{PATH}/event-types", source_id=connection)["drops"]
        return {drop["reason"]: drop["count"] for drop in listed}

    wait_until(lambda: game.calls)
    wait_until(lambda: drops() == {"too_large": 1, "unusable": 2})
