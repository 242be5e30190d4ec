"""Notifications of rules: listed, read, deleted by their owner alone."""

import pytest

from core.errors.auth import NotificationNotFound
from tests.fixtures.http.client import Api, conforms
from tests.fixtures.product.server import Server, one_shape
from tests.fixtures.rules.stored_rows import add_notification
from tests.fixtures.rules.written_rules import developer, plain

PATH = "/notifications"


@pytest.fixture
def ids(server: Server, user: Api) -> list[str]:
    return [add_notification(server, user.user_id, title=title, rule_id="r", firing_id="f") for title in ("a", "b")]


def test_notifications_are_listed_and_read(user: Api, ids: list[str]):
    listed = user.get(PATH)
    assert [item["id"] for item in listed["items"]] == ids[::-1]
    assert (listed["total"], listed["unread"], listed["pages"]) == (2, 2, 1)
    example = {"id": "uuid", "rule_id": "r", "log_id": "f", "level": "info", "title": "a", "text": "", "read_at": None}
    conforms(listed["items"][1], {**example, "rule_name": None, "created_at": "2026-02-03T09:50:00Z"})
    read = user.put(f"{PATH}/{ids[0]}/read", None)
    assert read["read_at"]
    # The first time counts.
    assert user.put(f"{PATH}/{ids[0]}/read", None) == read
    unread = user.get(PATH, unread=True)
    assert ([item["id"] for item in unread["items"]], unread["total"], unread["unread"]) == ([ids[1]], 1, 1)
    assert (user.get(PATH)["total"], user.get(PATH)["unread"]) == (2, 1)


@one_shape
def test_notification_names_its_rule_while_there_is_one(server: Server):
    writer = developer(server)
    rule = writer.post("/rules", plain())
    id_ = add_notification(server, writer.user_id, rule_id=rule["id"])
    assert writer.get(PATH)["items"][0]["rule_name"] == rule["name"]
    assert writer.put(f"{PATH}/{id_}/read", None)["rule_name"] == rule["name"]
    writer.delete(f"/rules/{rule['id']}")
    (notice,) = writer.get(PATH)["items"]
    assert (notice["rule_id"], notice["rule_name"]) == (rule["id"], None)


def test_all_notifications_are_read_at_once(server: Server, user: Api, other: Api, ids: list[str]):
    foreign = add_notification(server, other.user_id)
    first = user.put(f"{PATH}/{ids[0]}/read", None)["read_at"]
    user.put(f"{PATH}/read", None)
    listed = user.get(PATH)
    assert listed["unread"] == 0
    times = {item["id"]: item["read_at"] for item in listed["items"]}
    assert times[ids[1]]
    assert times[ids[0]] == first
    assert [item["read_at"] for item in other.get(PATH)["items"] if item["id"] == foreign] == [None]


def test_notification_is_deleted(user: Api, ids: list[str]):
    user.delete(f"{PATH}/{ids[0]}")
    assert [item["id"] for item in user.get(PATH)["items"]] == [ids[1]]
    user.refused(NotificationNotFound, "DELETE", f"{PATH}/{ids[0]}")
    user.refused(NotificationNotFound, "PUT", f"{PATH}/{ids[0]}/read")


def test_other_persons_notifications_are_as_if_they_were_not(user: Api, other: Api, ids: list[str]):
    listed = other.get(PATH)
    assert (listed["items"], listed["unread"]) == ([], 0)
    assert other.refused(NotificationNotFound, "PUT", f"{PATH}/{ids[0]}/read") == {}
    assert other.refused(NotificationNotFound, "DELETE", f"{PATH}/{ids[0]}") == {}
    assert user.get(PATH)["unread"] == 2
