"""Notifications of rules: listed, read, deleted by their owner alone."""

import pytest

from core.errors.auth import NotificationNotFound
from tests.fixtures.http.client import Api, conforms
from tests.fixtures.product.server import Server
from tests.fixtures.rules.stored_rows import add_notification

PATH = "/notifications"


@pytest.fixture
def ids(server: Server, user: Api) -> list[str]:
    return [add_notification(server, user.user_id, title=title, rule_id="r", firing_id="f") for title in ("a", "b")]


def test_notifications_are_listed_and_read(user: Api, ids: list[str]):
    listed = user.get(PATH)
    assert [item["id"] for item in listed["items"]] == ids[::-1]
    assert (listed["total"], listed["unread"], listed["pages"]) == (2, 2, 1)
    example = {"id": "uuid", "rule_id": "r", "log_id": "f", "level": "info", "title": "a", "text": "", "read_at": None}
    conforms(listed["items"][1], {**example, "created_at": "2026-02-03T09:50:00Z"})
    read = user.put(f"{PATH}/{ids[0]}/read", None)
    assert read["read_at"]
    # The first time counts.
    assert user.put(f"{PATH}/{ids[0]}/read", None) == read
    unread = user.get(PATH, unread=True)
    assert ([item["id"] for item in unread["items"]], unread["total"], unread["unread"]) == ([ids[1]], 1, 1)
    assert (user.get(PATH)["total"], user.get(PATH)["unread"]) == (2, 1)


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
