"""Logs of rules: pages, filters, single entries, and entries as they are written."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from core.db.database import Database
from core.db.unit_of_work import unit_of_work
from core.errors.auth import RuleLogNotFound
from core.errors.requests import InvalidCursor, InvalidRequest
from core.sse import ServerSentEvent
from rules.execution.executor import LEASE_SECONDS
from rules.models import RuleFiring
from tests.fixtures.http.client import Api, conforms
from tests.fixtures.http.event_streams import frames_of, streaming
from tests.fixtures.product.server import Server, one_shape
from tests.fixtures.rules.stored_rows import add_firing
from tests.fixtures.rules.written_rules import JOIN, PATH, developer, plain

DOCUMENTED = {
    "id": "uuid",
    "event_data": {"player": {"name": "x", "uuid": "x"}},
    "conditions_met": True,
    "actions_result": [{"type": "notify", "status": "success"}],
    "status": "success",
    "execution_time": 150,
    "executed_at": "2026-02-03T09:50:00Z",
}
RESULTS = [{"type": "notify", "target": "", "status": "success", "result": {"notification_id": "n"}, "duration": 3}]
# Longer than a test takes; a lease further ahead is taken for one of a clock that was set back.
HELD_FOR = timedelta(seconds=1.9 * LEASE_SECONDS)


@pytest.fixture
def user(server: Server) -> Api:
    return developer(server)


@pytest.fixture
def rule(user: Api) -> dict[str, Any]:
    return user.post(PATH, plain())


def test_log_of_the_contract_is_answered_as_documented(server: Server, user: Api, rule: dict[str, Any]):
    log_id = add_firing(server, rule, 1, actions_result=RESULTS, execution_time=150)
    path = f"{PATH}/{rule['id']}/logs"
    listed = user.get(path)
    conforms(listed, {"items": [DOCUMENTED], "total": 1, "page": 1, "page_size": 20})
    (entry,) = listed["items"]
    assert (entry["id"], entry["event_data"], entry["actions_result"]) == (log_id, JOIN["data"], RESULTS)
    assert (entry["event_type"], entry["rule_version"]) == ("player_join", 1)
    assert user.get(f"{path}/{log_id}") == entry


def test_verdicts_of_the_decision_are_shown(server: Server, user: Api, rule: dict[str, Any]):
    verdict = {
        "field": "player.name",
        "operator": "==",
        "holds": False,
        "value": '"Steve"',
        "expected": '"Alex"',
        "reason": "not_equal",
        "explanation": "x",
        "explanation_zh": "y",
    }
    group = {"holds": False, "negate": True, "conditions": [verdict]}
    trace = {
        "conditions": {"holds": False, "negate": False, "conditions": [verdict, group]},
        "problem": "no key",
        "problem_zh": "没有键",
    }
    log_id = add_firing(server, rule, 1, trace=trace, status="not_met", conditions_met=False, key="Steve")
    entry = user.get(f"{PATH}/{rule['id']}/logs/{log_id}")
    assert entry["conditions"] == [verdict, group]
    assert (entry["problem"], entry["problem_zh"], entry["cooldown_key"]) == ("no key", "没有键", "Steve")


def test_log_is_filtered_and_paged_with_the_newest_first(server: Server, user: Api, rule: dict[str, Any]):
    start = datetime(2026, 2, 3, 9, tzinfo=UTC)
    ids = [
        add_firing(server, rule, seq, executed_at=start + timedelta(minutes=seq), status=status)
        for seq, status in enumerate(["success", "failed", "not_met", "success"])
    ]
    path = f"{PATH}/{rule['id']}/logs"

    def listed(**filters: Any) -> list[str]:
        return [entry["id"] for entry in user.get(path, **filters)["items"]]

    assert listed() == ids[::-1]
    assert listed(status="success") == [ids[3], ids[0]]
    assert listed(start_time="2026-02-03T09:01:00Z", end_time="2026-02-03T17:02:00+08:00") == [ids[2], ids[1]]
    assert listed(page_size=3, page=2) == [ids[0]]
    assert user.get(path, page_size=3)["pages"] == 2
    for filters in ({"status": "maybe"}, {"start_time": "yesterday"}, {"end_time": "2026-02-03T09:01:00"}):
        details = user.refused(InvalidRequest, "GET", path, params=filters)
        assert details["field"] in filters


def test_entries_of_one_time_are_in_the_order_of_their_events(server: Server, user: Api, rule: dict[str, Any]):
    moment = datetime(2026, 2, 3, 9, tzinfo=UTC)
    ids = [add_firing(server, rule, seq, executed_at=moment) for seq in (3, 1, 2)]
    path = f"{PATH}/{rule['id']}/logs"
    assert [entry["id"] for entry in user.get(path)["items"]] == [ids[0], ids[2], ids[1]]
    assert [entry["id"] for entry in user.get(path, sort_order="asc")["items"]] == [ids[1], ids[2], ids[0]]


def test_log_is_of_its_rule_alone_and_goes_with_it(server: Server, user: Api, rule: dict[str, Any]):
    second = user.post(PATH, plain())
    log_id = add_firing(server, rule, 1)
    user.refused(RuleLogNotFound, "GET", f"{PATH}/{second['id']}/logs/{log_id}")
    assert user.get(f"{PATH}/{second['id']}/logs")["total"] == 0
    user.delete(f"{PATH}/{rule['id']}")
    assert server.count("rule_firing", rule_id=rule["id"]) == 0


def finish(server: Server, log_id: str) -> None:
    async def write(database: Database) -> None:
        async with unit_of_work(database) as work:
            row = await work.session.get(RuleFiring, log_id)
            assert row is not None
            row.status, row.actions_result, row.execution_time = "success", list(RESULTS), 12
            work.session.add(row)

    server.work(write)


def logged(frames: Iterator[ServerSentEvent]) -> tuple[str, dict[str, Any]]:
    frame = next(frame for frame in frames if frame.event == "log")
    return frame.id, json.loads(frame.data)


def test_stream_that_breaks_off_before_its_first_entry_loses_nothing(server: Server, user: Api, rule: dict[str, Any]):
    add_firing(server, rule, 4)
    path = f"/api/v1{PATH}/{rule['id']}/logs/stream"
    with streaming(user, "GET", path, params={"until_quiet": True}) as response:
        start, end = frames_of(response)
    assert (start.event, start.id, end.event) == ("start", "4", "end")
    missed = add_firing(server, rule, 6)
    with streaming(user, "GET", path, headers={"Last-Event-ID": start.id}) as response:
        assert logged(frames_of(response))[1]["id"] == missed


def test_entries_are_streamed_as_they_are_written_and_once_they_have_ended(
    server: Server, user: Api, rule: dict[str, Any]
):
    add_firing(server, rule, 1)
    path = f"/api/v1{PATH}/{rule['id']}/logs/stream"
    with streaming(user, "GET", path) as response:
        frames = frames_of(response)
        # The log is followed from the entries that there are when the answer begins.
        held_until = datetime.now(UTC) + HELD_FOR
        open_id = add_firing(server, rule, 5, status="running", driver="elsewhere", lease_until=held_until)
        place, entry = logged(frames)
        assert (entry["id"], entry["status"]) == (open_id, "running")
        last_id = add_firing(server, rule, 7, status="cooldown")
        assert logged(frames)[1]["id"] == last_id
    # What was open is sent to who comes back, and then as it has ended.
    with streaming(user, "GET", path, headers={"Last-Event-ID": place}) as response:
        frames = frames_of(response)
        assert [logged(frames)[1]["id"] for _ in range(2)] == [open_id, last_id]
        finish(server, open_id)
        place, entry = logged(frames)
        assert (entry["id"], entry["status"], entry["execution_time"]) == (open_id, "success", 12)
        assert place == "7"
        user.delete(f"{PATH}/{rule['id']}")
        end = next(frame for frame in frames if frame.event == "end")
        assert json.loads(end.data) == {"reason": "deleted"}


@one_shape
def test_place_that_is_none_of_the_stream_is_refused(user: Api, rule: dict[str, Any]):
    path = f"{PATH}/{rule['id']}/logs/stream"
    for cursor in ("x", "-1", "1:2", "9" * 30):
        user.refused(InvalidCursor, "GET", path, params={"after": cursor})
