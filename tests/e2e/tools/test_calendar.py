"""The calendar over HTTP: events, the feed, and what an agent writes into it."""

import json
from datetime import UTC, datetime

import pytest
from icalendar import Calendar

from core.errors.auth import CalendarEventNotFound, CalendarFeedNotFound
from core.errors.requests import InvalidRequest
from tests.fixtures.http.client import Api, check_error, conforms
from tests.fixtures.product.server import Server, one_shape
from tests.fixtures.runs.agent_runs import verified_run

EVENT = {
    "id": "uuid",
    "title": "周会",
    "start": "2026-03-17T01:00:00Z",
    "end": "2026-03-17T02:00:00Z",
    "start_local": "2026-03-17T09:00:00+08:00",
    "end_local": "2026-03-17T10:00:00+08:00",
    "event_timezone": "Asia/Shanghai",
    "all_day": False,
    "location": "",
    "notes": "",
    "sequence": 0,
    "created_by_agent": False,
    "created_at": "2026-03-01T10:00:00Z",
    "updated_at": "2026-03-01T10:00:00Z",
}
BODY = {"title": "周会", "start": "2026-03-17T09:00", "event_timezone": "Asia/Shanghai"}


def test_event_is_made_read_changed_and_deleted(user: Api):
    made = user.post("/calendar/events", BODY)
    conforms(made, EVENT)
    fixed = {name: made[name] for name in EVENT if name not in {"id", "created_at", "updated_at"}}
    assert fixed == {name: EVENT[name] for name in fixed}
    path = f"/calendar/events/{made['id']}"
    assert user.get(path) == made

    answer = user.request("PATCH", path, json={"start": "2026-03-18T09:30"})
    changed = answer.json()["data"]
    assert (changed["start"], changed["end"]) == ("2026-03-18T01:30:00Z", "2026-03-18T02:30:00Z")
    assert changed["sequence"] == 1
    assert changed["title"] == "周会"

    user.delete(path)
    user.refused(CalendarEventNotFound, "GET", path)
    assert user.get("/calendar/events")["total"] == 0


def test_zone_that_is_not_said_is_that_of_the_account_else_utc(user: Api):
    body = {"title": "x", "start": "2026-03-17T09:00"}
    assert user.post("/calendar/events", body)["start"] == "2026-03-17T09:00:00Z"
    user.put("/users/me", {"settings": {"timezone": "Asia/Shanghai"}})
    assert user.post("/calendar/events", body)["start"] == "2026-03-17T01:00:00Z"
    moment = {**body, "start": "2026-03-17T09:00:00-07:00"}
    assert user.post("/calendar/events", moment)["start_local"] == "2026-03-18T00:00:00+08:00"


def test_events_of_a_range_are_listed_by_their_start(user: Api):
    for start in ("2026-03-19T09:00", "2026-03-17T09:00", "2026-03-18T09:00"):
        user.post("/calendar/events", {**BODY, "start": start})
    zone = {"event_timezone": "Asia/Shanghai"}
    listed = user.get("/calendar/events", start="2026-03-17", end="2026-03-19", **zone)
    assert [item["start_local"][:10] for item in listed["items"]] == ["2026-03-17", "2026-03-18"]
    assert listed["total"] == 2
    late = user.get("/calendar/events", start="2026-03-17T09:30", end="2026-03-17T09:31", **zone)
    assert late["total"] == 1
    latest = user.get("/calendar/events", page_size=1, sort_order="desc")
    assert latest["items"][0]["start_local"][:10] == "2026-03-19"


@one_shape
@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"start": "2026-03-08T02:30", "event_timezone": "America/New_York"}, "start"),
        ({"start": "soon"}, "start"),
        ({"end": "2026-03-16T09:00"}, "end"),
        ({"event_timezone": "Asia/Peking"}, "event_timezone"),
        ({"title": " "}, "title"),
        ({"all_day": True}, "start"),
        ({"owner_id": "somebody"}, "owner_id"),
    ],
)
def test_event_that_can_not_be_is_refused_by_field(someone: Api, changes: dict, field: str):
    total = someone.get("/calendar/events")["total"]
    details = someone.refused(InvalidRequest, "POST", "/calendar/events", json={**BODY, **changes})
    assert details["field"].endswith(field)
    assert someone.get("/calendar/events")["total"] == total


def test_agent_writes_into_the_callers_calendar_once_per_call(user: Api, other: Api):
    arguments = {
        "action": "create",
        "event_timezone": "America/Los_Angeles",
        "title": "Dentist",
        "start": "2026-11-01T01:30",
    }
    props = {"agent_type": "react"}
    command = f"/tool calendar_write {json.dumps(arguments)}"
    events = verified_run(user, command, forwarded_props=props)
    (result,) = [json.loads(e["content"]) for e in events if e["type"] == "TOOL_CALL_RESULT"]

    assert (result["status"], result["start_utc"]) == ("created", "2026-11-01T08:30:00Z")
    assert "comes twice" in result["notes"][0]
    (made,) = user.get("/calendar/events")["items"]
    assert (made["id"], made["title"], made["created_by_agent"]) == (result["id"], "Dentist", True)
    assert other.get("/calendar/events")["total"] == 0

    read = '/tool calendar_read {"start": "2026-10-31", "end": "2026-11-02"}'
    events = verified_run(user, read, forwarded_props=props)
    (found,) = [json.loads(e["content"]) for e in events if e["type"] == "TOOL_CALL_RESULT"]
    assert [event["id"] for event in found["events"]] == [made["id"]]


def test_feed_is_read_by_its_token_until_it_is_rotated_or_revoked(server: Server, user: Api):
    user.refused(CalendarFeedNotFound, "GET", "/calendar/feed")
    made = user.post("/calendar/events", BODY)
    first = user.post("/calendar/feed")
    answer = server.http.get(first["url"])

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/calendar; charset=utf-8"
    assert answer.headers["x-content-type-options"] == "nosniff"
    (event,) = Calendar.from_ical(answer.content).walk("VEVENT")
    assert event["uid"] == f"{made['id']}@agentex"
    assert event.decoded("dtstart") == datetime(2026, 3, 17, 1, tzinfo=UTC)
    assert first["token"] not in json.dumps(user.get("/calendar/feed"))

    second = user.post("/calendar/feed")
    check_error(server.http.get(first["url"]), CalendarFeedNotFound)
    assert server.http.get(second["url"]).status_code == 200
    user.delete("/calendar/feed")
    check_error(server.http.get(second["url"]), CalendarFeedNotFound)
    check_error(server.http.get("/api/v1/calendar/feed.ics"), InvalidRequest)
    assert first["token"] not in server.text
