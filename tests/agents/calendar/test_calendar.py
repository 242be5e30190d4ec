"""The calendar: its tools, each call carried out once, changes of events, and the feed."""

import asyncio
import json
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from icalendar import Calendar
from sqlmodel import select

from agents.calendar import feeds
from agents.calendar import service as calendar_events
from agents.calendar.models import CalendarEvent
from agents.calendar.run_calendar import RunCalendar
from agents.calendar.service import EventDetails
from agents.calendar.time_span import TimeInput
from agents.client_time import UserClock
from agents.models import AgentRun, ChatSession
from agents.tools import build_toolbox
from agents.tools.base import Toolbox, ToolOutput
from agents.tools.live_call import LiveCall
from core.auth.models import User
from core.auth.principal import Principal
from core.db.database import Database
from core.db.types import utc_now
from core.db.unit_of_work import unit_of_work
from core.errors.auth import CalendarEventNotFound, CalendarFeedNotFound
from core.time_zones import find_zone
from tests.agents.fakes import scope_of
from tests.agents.runs.helpers import register
from tests.fixtures.database.databases import one_database

pytestmark = pytest.mark.anyio
MEETING = {
    "action": "create",
    "event_timezone": "America/Los_Angeles",
    "title": "Planning",
    "start": "2026-03-17T09:00",
}


@pytest.fixture
async def principal(database: Database) -> Principal:
    return await register(database)


async def begin_run(database: Database, owner: Principal) -> str:
    """A run of a person's."""
    async with unit_of_work(database) as work:
        thread = ChatSession(owner_id=owner.user_id, thread_id="t" + utc_now().isoformat())
        work.session.add(thread)
        await work.session.flush()
        run = AgentRun(
            owner_id=owner.user_id,
            run_id=thread.thread_id,
            session_id=thread.id,
            agent_type="react",
            lease_owner="test",
            lease_until=utc_now(),
        )
        work.session.add(run)
        await work.session.flush()
        return run.id


async def box_of(database: Database, owner: Principal, zone: str | None = None) -> Toolbox:
    book = RunCalendar(database, owner.user_id, await begin_run(database, owner))
    time = UserClock(None, zone)
    return build_toolbox(scope_of(time=time, calendar=book))


@pytest.fixture
async def box(database: Database, principal: Principal) -> Toolbox:
    return await box_of(database, principal)


async def write(box: Toolbox, call_id: str = "call-1", **arguments: Any) -> ToolOutput:
    return await box.call("calendar_write", json.dumps(arguments), live=LiveCall(call_id))


async def written(box: Toolbox, call_id: str = "call-1", **arguments: Any) -> dict[str, Any]:
    output = await write(box, call_id, **arguments)
    assert output.ran, output.content
    return json.loads(output.content)


async def list_events(database: Database, owner: Principal) -> list[CalendarEvent]:
    async with database.reading() as session:
        query = select(CalendarEvent).where(CalendarEvent.owner_id == owner.user_id)
        return list((await session.exec(query)).all())


async def test_event_is_created_in_the_zone_that_was_said(box: Toolbox, database: Database, principal: Principal):
    told = await written(box, **MEETING, location="Room 1")
    (row,) = await list_events(database, principal)

    assert told == {
        "status": "created",
        "id": row.id,
        "sequence": 0,
        "start_utc": "2026-03-17T16:00:00Z",
        "end_utc": "2026-03-17T17:00:00Z",
    }
    assert (row.title, row.location, row.time_zone) == ("Planning", "Room 1", "America/Los_Angeles")
    assert row.starts_at == datetime(2026, 3, 17, 16, tzinfo=UTC)
    assert row.source_run_id is not None


async def test_same_call_makes_one_event_however_often_and_at_once(
    box: Toolbox, database: Database, principal: Principal
):
    outputs = await asyncio.gather(*(written(box, **MEETING) for _ in range(5)))
    assert len(await list_events(database, principal)) == 1
    assert len({told["id"] for told in outputs}) == 1
    assert sum("repeated" in told for told in outputs) == 4


async def test_call_that_is_made_again_does_not_bring_back_what_was_deleted(
    box: Toolbox, database: Database, principal: Principal
):
    told = await written(box, **MEETING)
    zone = MEETING["event_timezone"]
    gone = await written(box, "call-2", action="delete", event_id=told["id"], event_timezone=zone)
    again = await written(box, **MEETING)

    assert gone == {"status": "deleted", "id": told["id"], "sequence": 0}
    assert (again["id"], again["repeated"]) == (told["id"], True)
    assert await list_events(database, principal) == []
    repeated = await written(box, "call-2", action="delete", event_id=told["id"], event_timezone=zone)
    assert repeated["status"] == "deleted"


async def test_other_call_other_arguments_or_other_run_makes_another_event(
    box: Toolbox, database: Database, principal: Principal
):
    await written(box, "call-1", **MEETING)
    await written(box, "call-2", **MEETING)
    # Some endpoints give every turn's first call the same id.
    await written(box, "call-1", **{**MEETING, "title": "Another"})
    await written(await box_of(database, principal), "call-1", **MEETING)
    assert len(await list_events(database, principal)) == 4


async def test_update_moves_the_event_and_keeps_its_length(box: Toolbox, database: Database, principal: Principal):
    told = await written(box, **MEETING, end="2026-03-17T10:30")
    zone = "America/Los_Angeles"
    moved = await written(
        box,
        "c2",
        action="update",
        event_id=told["id"],
        event_timezone=zone,
        start="2026-03-18T14:00",
    )
    assert (moved["start_utc"], moved["end_utc"]) == (
        "2026-03-18T21:00:00Z",
        "2026-03-18T22:30:00Z",
    )
    assert (moved["status"], moved["sequence"]) == ("updated", 1)

    named = await written(
        box,
        "c3",
        action="update",
        event_id=told["id"],
        event_timezone="Asia/Shanghai",
        title="Talk",
    )
    (row,) = await list_events(database, principal)
    assert named == {"status": "updated", "id": row.id, "sequence": 2}
    assert (row.title, row.time_zone) == ("Talk", zone)
    same = await written(box, "c4", action="update", event_id=told["id"], event_timezone=zone, title="Talk")
    assert same["sequence"] == 2


async def test_all_day_event_is_days_where_it_was_said(box: Toolbox, database: Database, principal: Principal):
    trip = {**MEETING, "title": "Trip", "start": "2026-03-07", "end": "2026-03-10", "all_day": True}
    told = await written(box, **trip)
    # Clocks go forward on the 8th.
    assert (told["start_utc"], told["end_utc"]) == ("2026-03-07T08:00:00Z", "2026-03-10T07:00:00Z")
    moved = await written(
        box,
        "c2",
        action="update",
        event_id=told["id"],
        event_timezone="America/Los_Angeles",
        start="2026-11-01",
    )
    assert (moved["start_utc"], moved["end_utc"]) == (
        "2026-11-01T07:00:00Z",
        "2026-11-04T08:00:00Z",
    )


@one_database
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"event_timezone": None}, "event_timezone"),
        ({"event_timezone": "PST"}, "event_timezone: No such time zone: use an IANA name"),
        ({"title": None}, "title: Say what it is"),
        ({"title": "  "}, "title: Say what it is"),
        ({"start": None}, "start: Say when it starts"),
        ({"start": "2026-03-08T02:30"}, "does not exist in America/Los_Angeles"),
        ({"start": "2026-03-17T09:00Z"}, "give the local time without one"),
        ({"end": "2026-03-17T09:00"}, "end: It must end after it starts"),
        ({"end": "2027-06-17T09:00"}, "end: It may take 366 days at most"),
        ({"all_day": True}, "start: An all-day event has days"),
        (
            {"all_day": True, "start": "2026-03-17", "end": "2026-03-17"},
            "the day after its last one",
        ),
        ({"action": "delete"}, "event_id: Say which event"),
        ({"action": "update", "event_id": "nothing"}, "Calendar event not found"),
        ({"action": "remove"}, "action"),
        ({"title": "x\x00"}, "NUL"),
        ({"attendees": []}, "attendees"),
    ],
)
async def test_call_that_can_not_be_carried_out_says_why_and_changes_nothing(
    box: Toolbox, database: Database, principal: Principal, changes: dict[str, Any], said: str
):
    arguments = {name: value for name, value in {**MEETING, **changes}.items() if value is not None}
    output = await write(box, **arguments)

    assert said in output.content
    assert not output.ran or output.failure is not None
    assert await list_events(database, principal) == []


async def test_time_that_comes_twice_is_told_in_the_result(box: Toolbox):
    told = await written(box, **{**MEETING, "start": "2026-11-01T01:30"})
    assert told["start_utc"] == "2026-11-01T08:30:00Z"
    assert "comes twice" in told["notes"][0]


async def test_calendar_is_read_in_the_persons_zone_and_by_nobody_else(database: Database, principal: Principal):
    box = await box_of(database, principal, "Asia/Shanghai")
    told = await written(box, **MEETING, notes="n" * 500)
    await written(box, "c2", **{**MEETING, "start": "2026-03-25T09:00"})
    await written(box, "c3", **{**MEETING, "start": "2026-03-18", "all_day": True, "title": "Day"})
    arguments = json.dumps({"start": "2026-03-17", "end": "2026-03-20"})
    read = json.loads((await box.call("calendar_read", arguments)).content)

    assert (read["status"], read["count"], read["timezone"]) == ("ok", 2, "Asia/Shanghai")
    assert read["events"][0] == {
        "id": told["id"],
        "title": "Planning",
        "start": "2026-03-18T00:00+08:00",
        "end": "2026-03-18T01:00+08:00",
        "event_timezone": "America/Los_Angeles",
        "notes": "n" * 200,
    }
    assert (read["events"][1]["start"], read["events"][1]["end"]) == ("2026-03-18", "2026-03-19")
    limited = json.dumps({"start": "2026-03-17", "end": "2026-03-20", "limit": 1})
    assert json.loads((await box.call("calendar_read", limited)).content)["more"] == 1

    stranger = await box_of(database, await register(database))
    assert json.loads((await stranger.call("calendar_read", arguments)).content)["count"] == 0
    theft = {"action": "delete", "event_id": told["id"], "event_timezone": "UTC"}
    output = await stranger.call("calendar_write", json.dumps(theft), live=LiveCall("c"))
    assert "Calendar event not found" in output.content
    assert len(await list_events(database, principal)) == 3


async def test_range_of_reading_must_be_one(box: Toolbox):
    for wrong in (
        {"start": "2026-03-17", "end": "2026-03-17"},
        {"start": "x"},
        {"end": "1999-01-01"},
    ):
        output = await box.call("calendar_read", json.dumps(wrong))
        assert not output.ran
        assert output.content.startswith("The arguments are not valid: ")
    assert json.loads((await box.call("calendar_read", "{}")).content)["events"] == []


async def test_writing_asks_for_the_zone_and_names_the_users_own(database: Database, principal: Principal):
    box = await box_of(database, principal, "Asia/Shanghai")
    (spec,) = [spec for spec in box.specs if spec.name == "calendar_write"]
    assert "event_timezone" in spec.parameters["required"]
    assert "Asia/Shanghai" in spec.description


# The feed


async def add(database: Database, owner: Principal, details: EventDetails, **said: Any) -> CalendarEvent:
    zone = find_zone(said.pop("zone", "America/Los_Angeles"))
    assert zone is not None
    async with unit_of_work(database) as work:
        row, _ = await calendar_events.create(work, owner.user_id, details, TimeInput(zone, **said))
        return row


async def test_feed_is_a_calendar_that_reads_back_what_was_written(database: Database, principal: Principal):
    hostile = "a,b;c\\d\r\nATTENDEE:mailto:x@example.com\rEND:VEVENT\x07"
    first = await add(database, principal, EventDetails(hostile, "Room; 1", hostile), start="2026-11-01T01:30")
    await add(database, principal, EventDetails("旅行 🎒" * 30), start="2026-03-07", all_day=True)
    async with unit_of_work(database) as work:
        _, token = await feeds.rotate(work, principal.user_id)
    async with database.reading() as session:
        content = feeds.to_ics(await feeds.read(session, token))

    assert all(len(line) <= 75 for line in content.split(b"\r\n"))
    parsed = Calendar.from_ical(content)
    assert parsed["version"] == "2.0"
    day, meeting = parsed.walk("VEVENT")
    assert meeting["uid"] == f"{first.id}@agentex"
    assert meeting.decoded("dtstart") == datetime(2026, 11, 1, 8, 30, tzinfo=UTC)
    assert meeting.decoded("dtend") == datetime(2026, 11, 1, 9, 30, tzinfo=UTC)
    assert meeting.decoded("sequence") == 0
    assert str(meeting["description"]) == hostile.replace("\r\n", "\n").replace("\r", "\n")[:-1]
    assert "attendee" not in meeting
    assert str(day["summary"]) == "旅行 🎒" * 30
    assert day.decoded("dtstart") == date(2026, 3, 7)
    assert day.decoded("dtend") == date(2026, 3, 8)


async def test_uid_stays_and_sequence_grows_with_a_change(database: Database, principal: Principal):
    row = await add(database, principal, EventDetails("One"), start="2026-03-17T09:00")
    before = Calendar.from_ical(feeds.to_ics([row])).walk("VEVENT")[0]
    async with unit_of_work(database) as work:
        row = await calendar_events.get(work.session, principal.user_id, row.id)
        zone = find_zone("UTC")
        assert zone is not None
        await calendar_events.update(work, row, EventDetails("Two"), TimeInput(zone))
    after = Calendar.from_ical(feeds.to_ics([row])).walk("VEVENT")[0]

    assert after["uid"] == before["uid"]
    assert after.decoded("sequence") == before.decoded("sequence") + 1
    assert after.decoded("dtstamp") >= before.decoded("dtstamp")


async def test_token_is_kept_as_a_hash_rotated_and_revoked(database: Database, principal: Principal):
    async with unit_of_work(database) as work:
        row, token = await feeds.rotate(work, principal.user_id)
    assert token not in row.model_dump_json()
    async with unit_of_work(database) as work:
        _, second = await feeds.rotate(work, principal.user_id)
    async with database.reading() as session:
        assert list(await feeds.read(session, second)) == []
        for wrong in (
            token,
            "",
            row.token_hash,
            second + "x",
            "é\ud800".encode("utf-8", "ignore").decode(),
        ):
            with pytest.raises(CalendarFeedNotFound):
                await feeds.read(session, wrong)
    async with unit_of_work(database) as work:
        await feeds.revoke(work, principal.user_id)
    async with database.reading() as session:
        with pytest.raises(CalendarFeedNotFound):
            await feeds.read(session, second)


async def test_feed_of_an_account_that_is_switched_off_is_not_there(database: Database, principal: Principal):
    async with unit_of_work(database) as work:
        _, token = await feeds.rotate(work, principal.user_id)
        user = await work.session.get_one(User, principal.user_id)
        user.status = "disabled"
        work.session.add(user)
    async with database.reading() as session:
        with pytest.raises(CalendarFeedNotFound):
            await feeds.read(session, token)


async def test_feed_has_no_events_that_are_long_past(database: Database, principal: Principal):
    long_past = utc_now() - timedelta(days=feeds.PAST_DAYS + 2)
    await add(
        database,
        principal,
        EventDetails("Old"),
        start=long_past.strftime("%Y-%m-%dT%H:%M"),
        zone="UTC",
    )
    async with unit_of_work(database) as work:
        _, token = await feeds.rotate(work, principal.user_id)
    async with database.reading() as session:
        assert list(await feeds.read(session, token)) == []


async def test_event_of_somebody_else_is_not_there(database: Database, principal: Principal):
    row = await add(database, principal, EventDetails("Mine"), start="2026-03-17T09:00")
    other = await register(database)
    async with database.reading() as session:
        with pytest.raises(CalendarEventNotFound):
            await calendar_events.get(session, other.user_id, row.id)
