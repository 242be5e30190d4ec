"""The search of one's own sessions by titles and messages, over HTTP."""

from typing import Any
from uuid import uuid4

import pytest

from core.errors.requests import InvalidPagination, InvalidRequest
from tests.fixtures.http.client import Api
from tests.fixtures.product.server import one_shape
from tests.fixtures.runs.agent_runs import ask


def make_session(user: Api, question: str, *, title: str = "") -> str:
    session_id = user.post("/sessions", {"title": title})["id"]
    ask(user, question, thread_id=session_id)
    return session_id


def find_sessions(user: Api, words: str, **query: Any) -> list[str]:
    return [item["id"] for item in user.get("/sessions", search=words, **query)["items"]]


def test_sessions_are_found_by_what_was_said_in_them(user: Api, other: Api):
    relay = make_session(user, "我们的中继服务器监听哪个端口？")
    backup = make_session(user, "When is the BACKUP made?", title="Vault")
    empty = user.post("/sessions", {"title": "中继的备份"})["id"]
    make_session(other, "我们的中继服务器监听哪个端口？", title="Vault")

    assert find_sessions(user, "中继") == [empty, relay]
    assert find_sessions(user, "端口") == [relay]
    assert (
        find_sessions(user, "backup") == find_sessions(user, "ackup made") == find_sessions(user, "vAULT") == [backup]
    )
    assert find_sessions(user, " backup ") == [backup]
    assert find_sessions(user, "backup port") == []
    assert find_sessions(user, "") == find_sessions(user, "  ") == [empty, backup, relay]


def test_match_says_where_the_words_stand(user: Api):
    long = "The first. " * 30 + "Where is the zebra, and why? " + "The last. " * 30
    session_id = make_session(user, long, title="zebras")
    match = user.get("/sessions", search="ZEBRA")["items"][0]["match"]
    question, *_ = user.get(f"/sessions/{session_id}/messages")["items"]

    assert (match["message_id"], match["role"]) == (question["id"], "user")
    assert "Where is the zebra, and why?" in match["excerpt"]
    assert match["excerpt"].startswith("…")
    assert match["excerpt"].endswith("…")
    assert len(match["excerpt"]) < 250
    # Where only the title has them, and where nothing was searched for, there is none.
    assert user.get("/sessions", search="zebras")["items"][0]["match"] is None
    assert user.get("/sessions")["items"][0]["match"] is None


@pytest.mark.parametrize("words", ["100%", "_x_", "a/b", "'; --", "\\", "%", "_"])
def test_signs_of_patterns_stand_for_themselves(user: Api, words: str):
    session_id = user.post("/sessions", {"title": f"left {words} right"})["id"]
    user.post("/sessions", {"title": '100 xxx a-b "; -'})

    assert find_sessions(user, words) == [session_id]


def test_found_sessions_come_in_pages_like_all_others(user: Api):
    ids = [user.post("/sessions", {"title": f"{n} plan {n % 2}"})["id"] for n in range(7)]
    user.put(f"/sessions/{ids[3]}", {"is_archived": True})
    user.post("/sessions", {"title": "other"})
    query = {"search": "plan", "sort_by": "title", "sort_order": "asc", "page_size": 3}
    pages = [user.get("/sessions", page=n, **query) for n in (1, 2, 3, 4)]

    assert [page["total"] for page in pages] == [7] * 4
    assert [page["pages"] for page in pages] == [3] * 4
    assert [len(page["items"]) for page in pages] == [3, 3, 1, 0]
    assert [item["id"] for page in pages for item in page["items"]] == ids
    assert find_sessions(user, "plan", is_archived=True) == [ids[3]]
    assert user.get("/sessions", search="plan", is_archived=False)["total"] == 6


@pytest.mark.parametrize("words", ["x" * 201, "a\0b"])
def test_search_that_cannot_be_is_refused(user: Api, words: str):
    details = user.refused(InvalidRequest, "GET", "/sessions", params={"search": words})

    assert details["field"] == "search"


@one_shape
@pytest.mark.parametrize(
    "wrong",
    [{"sort_by": "config"}, {"sort_by": "owner_id"}, {"page_size": 101}, {"page": 10**9}],
)
def test_sessions_are_listed_by_documented_fields_only(user: Api, wrong: dict[str, Any]):
    details = user.refused(InvalidPagination, "GET", "/sessions", params=wrong)

    assert details["field"] == next(iter(wrong))


def test_deleted_session_is_found_no_more(user: Api):
    words = uuid4().hex
    session_id = make_session(user, words)
    assert find_sessions(user, words) == [session_id]
    user.delete(f"/sessions/{session_id}")

    assert find_sessions(user, words) == []
