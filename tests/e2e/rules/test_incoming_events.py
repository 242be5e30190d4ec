"""Signed events of event sources: accepted once, refused when forged, old, too large or from nowhere."""

import json
import time
from typing import Any
from uuid import uuid4

import pytest

from core.errors.auth import EventRefused, EventSourceNotFound
from core.errors.conflicts import EventSourceNameTaken, EventSourcesFull
from core.errors.requests import InvalidRequest, MalformedJson, RequestTooLarge
from rules.event_sources import MOST_SOURCES
from tests.fixtures.http.client import Api, check_error, check_success, eventually, unique
from tests.fixtures.product.server import Server, one_shape
from tests.fixtures.rules.written_rules import JOIN, PATH, developer, send_event, sign

SOURCES = f"{PATH}/sources"


@pytest.fixture
def user(server: Server) -> Api:
    return developer(server)


@pytest.fixture
def source(user: Api) -> dict[str, Any]:
    return user.post(SOURCES, {"name": "Game server"})


def accepted(server: Server, source: dict[str, Any]) -> list[dict[str, Any]]:
    query = "SELECT * FROM accepted_event WHERE source_id = :id ORDER BY seq"
    return server.sql(query, id=source["id"])


def as_json(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value


def test_signed_event_is_accepted_once(server: Server, user: Api, source: dict[str, Any]):
    first = check_success(send_event(server.http, source, JOIN, message_id="msg_1"))
    assert first == {"id": "msg_1", "duplicate": False}
    (row,) = accepted(server, source)
    assert (row["owner_id"], row["source_kind"], row["type"]) == (user.user_id, "webhook", "player_join")
    assert as_json(row["data"]) == JOIN["data"]
    again = check_success(send_event(server.http, source, JOIN, message_id="msg_1"))
    assert again == {"id": "msg_1", "duplicate": True}
    # Its own name of the event counts before that of the message.
    named = {**JOIN, "id": "event-7"}
    assert check_success(send_event(server.http, source, named))["id"] == "event-7"
    assert check_success(send_event(server.http, source, named))["duplicate"] is True
    assert len(accepted(server, source)) == 2


def test_time_and_chain_of_an_event_are_kept(server: Server, source: dict[str, Any]):
    rules = [str(uuid4()), str(uuid4())]
    event = {**JOIN, "time": "2026-02-03T09:50:00+08:00"}
    check_success(send_event(server.http, source, event, agentex_rule_chain=",".join([*rules, "x"])))
    (row,) = accepted(server, source)
    assert str(row["occurred_at"]).startswith("2026-02-03 01:50")
    assert as_json(row["chain"]) == rules


def test_event_that_is_not_signed_with_the_secret_is_refused_and_not_kept(server: Server, source: dict[str, Any]):
    body = json.dumps(JOIN).encode()
    now = int(time.time())
    stranger = {**source, "secret": "whsec_" + "QUJD" * 8}
    unknown = {**source, "url": source["url"].replace(source["id"], str(uuid4()))}
    forged = [
        send_event(server.http, stranger, JOIN),
        send_event(server.http, unknown, JOIN),
        send_event(server.http, source, JOIN, webhook_signature="v1,AAAA"),
        send_event(server.http, source, JOIN, webhook_signature=""),
        send_event(server.http, source, JOIN, webhook_signature="v2," + sign(body, source["secret"])[3:]),
        send_event(server.http, source, JOIN, webhook_id="another"),
        send_event(server.http, source, JOIN, webhook_timestamp=str(now + 100)),
        send_event(server.http, source, JOIN, webhook_timestamp="now"),
        send_event(server.http, source, JOIN, timestamp=now - 301),
        send_event(server.http, source, JOIN, timestamp=now + 330),
        server.http.post(source["url"], content=body),
        server.http.post(source["url"], content=body, headers={"Authorization": "Bearer x"}),
    ]
    bodies = {json.dumps(answer.json(), sort_keys=True) for answer in forged}
    assert [check_error(answer, EventRefused) for answer in forged] == [{}] * len(forged)
    # A source that nobody has looks as a forged signature does.
    assert len(bodies) == 1
    assert accepted(server, source) == []
    changed = send_event(server.http, source, body)
    assert changed.status_code == 200


def test_sender_that_signs_no_id_is_known_by_what_it_signs(server: Server, source: dict[str, Any]):
    body = json.dumps(JOIN).encode()
    now = int(time.time())
    headers = {"webhook-timestamp": str(now), "webhook-signature": sign(f"{now}.".encode() + body, source["secret"])}
    first = check_success(server.http.post(source["url"], content=body, headers=headers))
    assert first["duplicate"] is False
    # An id that is not signed makes no other event of it.
    again = server.http.post(source["url"], content=body, headers={**headers, "webhook-id": "fresh"})
    assert check_success(again) == {"id": first["id"], "duplicate": True}
    assert len(accepted(server, source)) == 1


def test_one_of_several_signatures_is_enough(server: Server, source: dict[str, Any]):
    now, body = int(time.time()), json.dumps(JOIN).encode()
    right = sign(f"m.{now}.".encode() + body, source["secret"])
    headers = {"webhook-id": "m", "webhook-timestamp": str(now), "webhook-signature": f"v1a,xyz v1,AAAA {right}"}
    assert check_success(server.http.post(source["url"], content=body, headers=headers))["id"] == "m"


@pytest.mark.parametrize(
    ("event", "field"),
    [
        ({"data": {}}, "type"),
        ({"type": ""}, "type"),
        ({"type": "x" * 201}, "type"),
        ({"type": "a\x00b"}, "type"),
        ({"type": "x", "id": ""}, "id"),
        ({"type": "x", "time": "yesterday"}, "time"),
        ({"type": "x", "owner_id": "me"}, "owner_id"),
        ([], "body"),
        ("x", "body"),
    ],
)
@one_shape
def test_signed_event_of_another_form_is_refused(server: Server, source: dict[str, Any], event: Any, field: str):
    details = check_error(send_event(server.http, source, event), InvalidRequest)
    assert details["field"] == field
    assert details["error"]
    assert accepted(server, source) == []


@one_shape
def test_signed_bytes_that_are_no_json_are_refused(server: Server, source: dict[str, Any]):
    deep = b'{"type": "x", "data": ' + b"[" * 5000 + b"]" * 5000 + b"}"
    for body in (b"", b"{", b"\xff\xfe", b'{"type": "x", "data": NaN}', b'{"type": "\\ud800"}', deep):
        check_error(send_event(server.http, source, body), MalformedJson)
    assert accepted(server, source) == []


def test_event_that_is_too_large_is_refused_before_its_signature_is_checked(server: Server, source: dict[str, Any]):
    body = {"type": "x", "data": "a" * (256 * 1024)}
    details = check_error(send_event(server.http, source, body, webhook_signature="v1,AAAA"), RequestTooLarge)
    assert details == {"max_bytes": 256 * 1024}
    fitting = {"type": "x", "data": "a" * (250 * 1024)}
    assert send_event(server.http, source, fitting).status_code == 200


def test_secret_is_shown_once_and_rotated(server: Server, user: Api, source: dict[str, Any]):
    (listed,) = user.get(SOURCES)["items"]
    fields = {name: source[name] for name in ("id", "name", "url", "created_at")}
    assert listed == {**fields, "drops": []}
    (stored,) = server.sql("SELECT sealed_secret FROM event_source WHERE id = :id", id=source["id"])
    assert source["secret"].removeprefix("whsec_") not in stored["sealed_secret"]
    rotated = user.post(f"{SOURCES}/{source['id']}/rotate")
    assert (rotated["id"], rotated["url"]) == (source["id"], source["url"])
    check_error(send_event(server.http, source, JOIN), EventRefused)
    assert send_event(server.http, rotated, JOIN).status_code == 200
    assert source["secret"] not in server.text
    assert rotated["secret"] not in server.text


def test_deleted_source_and_disabled_account_accept_nothing(server: Server, user: Api, source: dict[str, Any]):
    second = user.post(SOURCES, {"name": "second"})
    user.delete(f"{SOURCES}/{source['id']}")
    check_error(send_event(server.http, source, JOIN), EventRefused)
    user.refused(EventSourceNotFound, "DELETE", f"{SOURCES}/{source['id']}")
    assert send_event(server.http, second, JOIN).status_code == 200
    server.sql("UPDATE \"user\" SET status = 'disabled' WHERE id = :id", id=user.user_id)
    check_error(send_event(server.http, second, JOIN), EventRefused)


def test_sources_are_their_owners_alone(server: Server, user: Api, source: dict[str, Any]):
    other = developer(server)
    assert other.get(SOURCES) == {"items": [], "total": 0}
    for method, path in (("DELETE", f"{SOURCES}/{source['id']}"), ("POST", f"{SOURCES}/{source['id']}/rotate")):
        assert other.refused(EventSourceNotFound, method, path) == {}
    assert send_event(server.http, source, JOIN).status_code == 200
    other.post(SOURCES, {"name": source["name"]})
    details = user.refused(EventSourceNameTaken, "POST", SOURCES, json={"name": source["name"]})
    assert details == {"field": "name", "name": source["name"]}
    for name in ("", " ", "x" * 101, "a\x00b"):
        assert user.refused(InvalidRequest, "POST", SOURCES, json={"name": name})["field"] == "name"


@one_shape
def test_number_of_sources_is_limited(server: Server, user: Api):
    for _ in range(MOST_SOURCES):
        user.post(SOURCES, {"name": unique("source")})
    assert user.refused(EventSourcesFull, "POST", SOURCES, json={"name": "more"}) == {"limit": MOST_SOURCES}


def test_refused_events_are_counted_for_their_source(server: Server, user: Api, source: dict[str, Any]):
    stranger = {**source, "secret": "whsec_" + "QUJD" * 8}
    for _ in range(2):
        assert send_event(server.http, stranger, {"no": "type"}).is_error
    for event in ({"no": "type"}, b"{", {"type": "x" * 201}):
        assert send_event(server.http, source, event).is_error
    assert send_event(server.http, source, {"type": "x", "data": "a" * (256 * 1024)}).is_error

    def drops() -> list[dict[str, Any]]:
        (listed,) = user.get(SOURCES)["items"]
        return listed["drops"]

    counts = {"signature": 2, "too_large": 1, "unusable": 3}
    eventually(lambda: {drop["reason"]: drop["count"] for drop in drops()} == counts)
    assert all(drop["source_id"] == source["id"] and drop["last_at"] for drop in drops())
    assert user.get(f"{PATH}/event-types", source_id=source["id"])["drops"] == drops()
    assert user.get(f"{PATH}/event-types", source_id="platform")["drops"] == []
    assert developer(server).get(f"{PATH}/event-types")["drops"] == []
    user.delete(f"{SOURCES}/{source['id']}")
    assert server.count("event_drop", source_id=source["id"]) == 0
