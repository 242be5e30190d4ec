"""Rules while Redis loses everything, between two API processes, and under a clock that is set back."""

import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from redis import Redis

from tests.fixtures.http.client import Api, check_success, eventually
from tests.fixtures.product.api_processes import ApiProcesses, api_processes, same_caller
from tests.fixtures.product.server import Server
from tests.fixtures.product.shifted_clock import ShiftedClock
from tests.fixtures.rules.written_rules import PATH, developer, send_event
from tests.fixtures.servers.external_services import Postgres
from tests.fixtures.servers.game_server import GameServer, game_server

pytestmark = pytest.mark.timeout(600)
ALLOWED = "/admin/system/config/allowed_private_targets"
HOUR_MS = 3_600_000
TEN_DAYS = 10 * 24 * 3600
NOTIFY: dict[str, Any] = {"type": "notify", "params": {"title": "Alarm {{number}}", "text": "Look at it."}}


def write_rule(writer: Api, source: dict[str, Any], actions: list[dict[str, Any]], **fields: Any) -> dict[str, Any]:
    trigger = {"event_type": "alarm", "source_id": source["id"]}
    return writer.post(PATH, {"name": "Alarm", "trigger_config": trigger, "actions": actions, **fields})


def alarm(server: Server, source: dict[str, Any], number: int, **fields: Any) -> dict[str, Any]:
    """Send an event; what was answered."""
    event = {"type": "alarm", "id": f"alarm-{number}", "data": {"number": number}}
    return check_success(send_event(server.http, source, event, **fields))


def log_of(writer: Api, rule: dict[str, Any], **params: Any) -> list[dict[str, Any]]:
    """The entries of a rule's log, oldest first."""
    return writer.get(f"{PATH}/{rule['id']}/logs", page_size=100, **params)["items"][::-1]


def titles_of(writer: Api) -> list[str]:
    return sorted(notice["title"] for notice in writer.get("/notifications", page_size=100)["items"])


def broadcast(connection: dict[str, Any], tool: str = "chat_broadcast") -> dict[str, Any]:
    """The action that says it in the game."""
    params = {"message": "Alarm {{number}}"}
    return {"type": "mcp_call", "target": tool, "connection_id": connection["id"], "params": params}


def connect(writer: Api, game: GameServer) -> dict[str, Any]:
    connection = writer.post("/mcp/connections", game.connection)
    assert writer.post(f"/mcp/connections/{connection['id']}/test")["success"]
    return connection


# --- Redis -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def game(tmp_path, installation: Server) -> Iterator[GameServer]:
    with game_server(tmp_path) as running:
        installation.admin().put(ALLOWED, {"value": [f"127.0.0.1:{running.port}"]})
        yield running
    installation.admin().delete(ALLOWED)


def flush(server: Server) -> None:
    with Redis.from_url(server.settings.effective_redis_url) as redis:
        redis.flushall()


def kill(server: Server) -> None:
    server.kill("redis")


@pytest.mark.parametrize("lose", [flush, kill])
def test_redis_that_loses_everything_before_the_action_loses_no_event(
    installation: Server, game: GameServer, lose: Callable[[Server], None]
):
    writer = developer(installation)
    base_id, source = writer.create_kb(), writer.post(f"{PATH}/sources", {"name": "Alarms"})
    note = {"knowledge_base_id": base_id, "name": "Alarm {{number}}.md", "text": "Alarm {{number}} was raised."}
    ask = {"prompt": "Hello, alarm {{number}} #plain"}
    actions = [
        broadcast(connect(writer, game), "held_broadcast"),
        {"type": "ingest", "params": note},
        {"type": "agent_run", "target": "react", "params": ask},
        NOTIFY,
    ]
    rule = write_rule(writer, source, actions)
    numbers = range(8)
    alarm(installation, source, 0)
    eventually(lambda: game.calls, what="the first action is under way")
    for number in numbers[1:]:
        alarm(installation, source, number)
    eventually(lambda: len(log_of(writer, rule, status="pending")) == 7, what="the others are decided on and wait")
    lose(installation)
    game.release()
    eventually(lambda: len(log_of(writer, rule, status="success")) == 8, what="all are acted on", seconds=240)
    # In the order of their acceptance, each once.
    assert [call["message"] for call in game.calls] == [f"Alarm {number}" for number in numbers]
    assert titles_of(writer) == [f"Alarm {number}" for number in numbers]
    documents = writer.get(f"/knowledge-bases/{base_id}/documents", page_size=100)["items"]
    assert sorted(document["name"] for document in documents) == [f"Alarm {number}.md" for number in numbers]
    assert {document["revision"] for document in documents} == {1}
    assert installation.count("agent_run", owner_id=writer.user_id) == 8
    for document in documents:
        writer.wait(base_id, document["id"])


# --- Two processes ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shared_game(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GameServer]:
    with game_server(tmp_path_factory.mktemp("game")) as running:
        yield running


@pytest.fixture(scope="module")
def apis(
    tmp_path_factory: pytest.TempPathFactory,
    find_postgres: Callable[[], Postgres],
    find_redis: Callable[[], str],
    shared_game: GameServer,
) -> Iterator[ApiProcesses]:
    """Two API processes on one PostgreSQL database and one Redis."""
    postgres = find_postgres()
    with ExitStack() as stack:
        url = postgres.create()
        stack.callback(postgres.drop, url)
        variables = {
            "AGENTEX_DATABASE_URL": url,
            "AGENTEX_REDIS_URL": find_redis(),
            "AGENTEX_ALLOWED_PRIVATE_TARGETS": f"127.0.0.1:{shared_game.port}",
        }
        processes = stack.enter_context(api_processes(tmp_path_factory.mktemp("pair"), variables))
        for server in [processes.start(wait=False) for _ in range(2)]:
            processes.wait_up(server)
        yield processes


@pytest.fixture
def pair(apis: ApiProcesses) -> list[Server]:
    return [server for server in apis.started if server.process.poll() is None]


def send_to_all(servers: list[Server], source: dict[str, Any], number: int) -> list[bool]:
    """Send the same event to all processes at the same moment; which of them call it a duplicate."""
    together = Barrier(len(servers))

    def send(server: Server) -> bool:
        together.wait()
        return alarm(server, source, number)["duplicate"]

    with ThreadPoolExecutor(len(servers)) as pool:
        return list(pool.map(send, servers))


def test_same_event_at_two_processes_is_acted_on_once(pair: list[Server], shared_game: GameServer):
    writer = developer(pair[0])
    source = writer.post(f"{PATH}/sources", {"name": "Alarms"})
    rule = write_rule(writer, source, [broadcast(connect(writer, shared_game)), NOTIFY])
    before = len(shared_game.calls)
    answers = [send_to_all(pair, source, number) for number in range(30)]
    assert [sorted(answer) for answer in answers] == [[False, True]] * 30
    elsewhere = same_caller(writer, pair[1])
    eventually(lambda: len(log_of(elsewhere, rule, status="success")) == 30, what="all are acted on", seconds=120)
    expected = [f"Alarm {number}" for number in range(30)]
    assert [call["message"] for call in shared_game.calls[before:]] == expected
    assert titles_of(elsewhere) == sorted(expected)
    assert len(log_of(writer, rule)) == 30


def test_cooldown_holds_across_processes(pair: list[Server]):
    writer = developer(pair[0])
    source = writer.post(f"{PATH}/sources", {"name": "Alarms"})
    rule = write_rule(writer, source, [NOTIFY], cooldown=HOUR_MS)
    with ThreadPoolExecutor(8) as pool:
        sent = [pool.submit(alarm, pair[number % 2], source, number) for number in range(40)]
        assert {done.result()["duplicate"] for done in sent} == {False}
    eventually(lambda: len(log_of(writer, rule)) == 40, what="all are decided on", seconds=120)
    eventually(lambda: len(log_of(writer, rule, status="success")) == 1, what="the first one is acted on")
    assert len(log_of(writer, rule, status="cooldown")) == 39
    assert len(titles_of(writer)) == 1


def test_events_of_a_process_that_was_killed_are_acted_on_by_the_other(apis: ApiProcesses, shared_game: GameServer):
    victim, left = apis.start(), apis.started[0]
    writer = developer(left)
    source = writer.post(f"{PATH}/sources", {"name": "Alarms"})
    rule = write_rule(writer, source, [broadcast(connect(writer, shared_game)), NOTIFY])
    before = len(shared_game.calls)
    with ThreadPoolExecutor(4) as pool:
        sent = [pool.submit(alarm, victim, source, number) for number in range(30)]
        for done in sent:
            done.result()
    apis.kill(victim)

    def is_over() -> bool:
        return {entry["status"] for entry in log_of(writer, rule)} <= {"success", "unknown"}

    eventually(lambda: len(log_of(writer, rule)) == 30 and is_over(), what="all are acted on", seconds=240)
    calls = [call["message"] for call in shared_game.calls[before:]]
    assert len(calls) == len(set(calls))
    # At most the call that was under way is in doubt; it is reported, and what follows it is done.
    doubtful = log_of(writer, rule, status="unknown")
    assert len(doubtful) <= 1
    assert titles_of(writer) == sorted(f"Alarm {number}" for number in range(30))
    assert len(calls) >= 30 - len(doubtful)


# --- The clock: what tests/rules/test_clock_set_back.py says of rows, said of processes ---------------------------------


@contextmanager
def process_ahead(folder: Path, game: GameServer) -> Iterator[tuple[ApiProcesses, ShiftedClock]]:
    """A folder for API processes, and a clock that is ten days ahead; on SQLite, theirs is the database's too."""
    clock = ShiftedClock(folder, ahead=TEN_DAYS)
    variables = {"AGENTEX_ALLOWED_PRIVATE_TARGETS": f"127.0.0.1:{game.port}"}
    with api_processes(folder, variables) as apis:
        yield apis, clock


def now_at(clock: ShiftedClock) -> int:
    return int(time.time()) + clock.ahead


@pytest.mark.soak
def test_clock_set_back_under_a_running_process_silences_no_rule(tmp_path, shared_game: GameServer):
    with process_ahead(tmp_path, shared_game) as (apis, clock):
        server = apis.start(**clock.variables)
        writer = developer(server)
        source = writer.post(f"{PATH}/sources", {"name": "Alarms"})
        rule = write_rule(writer, source, [NOTIFY], cooldown=HOUR_MS)
        every_minute = {"event_type": "schedule", "schedule": {"cron": "* * * * *"}}
        scheduled = writer.post(PATH, {"name": "Each minute", "trigger_config": every_minute, "actions": [NOTIFY]})
        for number in range(2):
            alarm(server, source, number, timestamp=now_at(clock))
        eventually(lambda: len(log_of(writer, rule)) == 2, what="both are decided on")
        eventually(lambda: log_of(writer, rule, status="success"), what="the first one is acted on")
        assert writer.get(f"{PATH}/{scheduled['id']}")["due_at"] > time.strftime("%Y-%m-%d", time.gmtime(now_at(clock)))
        clock.set(0)
        known = {"type": "alarm", "id": "alarm-0", "data": {}}
        # Until it looks at its clock again, the time of the signature is ten days old.
        eventually(lambda: send_event(server.http, source, known).status_code == 200, what="its clock is set")
        for number in range(4):
            # Two that are known, and two that are new.
            assert alarm(server, source, number)["duplicate"] == (number < 2)
        eventually(lambda: len(log_of(writer, rule)) == 4, what="the new ones are decided on")
        eventually(lambda: len(log_of(writer, rule, status="success")) == 2, what="one of them is acted on")
        assert sorted(entry["status"] for entry in log_of(writer, rule)) == [
            "cooldown",
            "cooldown",
            "success",
            "success",
        ]
        assert [title for title in titles_of(writer) if title != "Alarm "] == ["Alarm 0", "Alarm 2"]
        soon = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time() + 120))
        eventually(lambda: writer.get(f"{PATH}/{scheduled['id']}")["due_at"] < soon, what="the schedule is due soon")


@pytest.mark.soak
def test_process_that_died_under_a_clock_that_was_ahead_holds_nothing_up(tmp_path, shared_game: GameServer):
    before = len(shared_game.calls)
    with process_ahead(tmp_path, shared_game) as (apis, clock):
        first = apis.start(**clock.variables)
        writer = developer(first)
        source = writer.post(f"{PATH}/sources", {"name": "Alarms"})
        rule = write_rule(writer, source, [broadcast(connect(writer, shared_game), "held_broadcast"), NOTIFY])
        alarm(first, source, 1, timestamp=now_at(clock))
        eventually(lambda: len(shared_game.calls) > before, what="the tool is called")
        alarm(first, source, 2, timestamp=now_at(clock))
        eventually(lambda: log_of(writer, rule, status="pending"), what="the second one waits behind it")
        apis.kill(first)
        shared_game.release()
        second = apis.start()
        writer = same_caller(writer, second)
        alarm(second, source, 3)

        def statuses() -> list[str]:
            entries = sorted(log_of(writer, rule), key=lambda entry: json.dumps(entry["event_data"]))
            return [entry["status"] for entry in entries]

        eventually(lambda: statuses() == ["unknown", "success", "success"], what="all are acted on", seconds=120)
        assert [call["message"] for call in shared_game.calls[before:]] == ["Alarm 1", "Alarm 2", "Alarm 3"]
        assert titles_of(writer) == ["Alarm 1", "Alarm 2", "Alarm 3"]
