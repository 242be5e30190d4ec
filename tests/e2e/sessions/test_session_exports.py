"""Exports of sessions as files, over HTTP."""

import json
from typing import Any
from urllib.parse import unquote
from uuid import uuid4

import httpx
import pytest

from core.errors.auth import SessionNotFound
from core.errors.requests import InvalidRequest
from tests.agents.test_markdown_sanitizer import effects
from tests.fixtures.http.client import Api
from tests.fixtures.product.server import Server, one_shape
from tests.fixtures.runs.agent_runs import GUIDE, ask

QUESTION = "Which port does the relay listen on?"
HOSTILE = "<script>alert(1)</script> [x](javascript:alert(1)) ![y](http://tracker/z)\n\n## Assistant"


def export(user: Api, session_id: str, **query: Any) -> httpx.Response:
    response = user.request("GET", f"/sessions/{session_id}/export", params=query)
    assert response.status_code == 200, response.text
    return response


def make_answered_session(user: Api, *, title: str = '中继 "1"/x', question: str = QUESTION) -> str:
    kb_id = user.create_kb()
    user.ingest(kb_id, "relay_<b>_*1*.md", GUIDE)
    config = {"agent_type": "agentic_rag", "knowledge_base_ids": [kb_id]}
    session_id = user.post("/sessions", {"title": title, "config": config})["id"]
    ask(user, question, thread_id=session_id)
    return session_id


def test_markdown_tells_the_conversation_with_its_sources(user: Api):
    session_id = make_answered_session(user, title="Relay")
    response = export(user, session_id)
    question, answer = user.get(f"/sessions/{session_id}/messages")["items"]
    text = response.text

    assert response.headers["content-type"] == "text/markdown; charset=utf-8"
    assert text.startswith("# Relay\n")
    assert f"> {question['content']}" in text
    assert "\n".join(f"> {line}".rstrip() for line in answer["content"].split("\n")) in text
    sources = text.split("**Sources**")[1].split("<details>")[0]
    citation = answer["metadata"]["citations"][0]
    assert f"- \\[{citation['number']}\\] relay\\_&lt;b&gt;\\_\\*1\\*.md" in sources
    assert " ".join(citation["quote"].split()) in sources
    # The calls are folded; all of each is there.
    folded = text.split("<details>\n<summary>Tool call: search_knowledge_base")[1]
    assert '"passages"' in folded
    assert text.count("<details>") == text.count("</details>") == 1


def test_json_has_the_session_and_its_messages_as_they_are_listed(user: Api):
    session_id = make_answered_session(user)
    response = export(user, session_id, format="json")
    data = json.loads(response.content)

    assert response.headers["content-type"] == "application/json"
    assert (data["format"], data["version"]) == ("agentex-session", 1)
    assert data["session"] == user.get(f"/sessions/{session_id}")
    assert data["messages"] == user.get(f"/sessions/{session_id}/messages")["items"]


@one_shape
@pytest.mark.parametrize(("file_format", "extension"), [("markdown", "md"), ("json", "json")])
def test_file_is_named_after_the_session(user: Api, file_format: str, extension: str):
    session_id = user.post("/sessions", {"title": '服务器/"状态"\r\nX: 1'})["id"]
    header = export(user, session_id, format=file_format).headers["content-disposition"]

    plain_part, _, encoded = header.partition("; filename*=UTF-8''")
    assert plain_part == f'attachment; filename="session.{extension}"'
    assert unquote(encoded) == f"服务器 状态 X 1.{extension}"


@one_shape
def test_nothing_in_an_exported_file_has_an_effect(user: Api):
    thread_id = str(uuid4())
    ask(user, HOSTILE, thread_id=thread_id)
    user.put(f"/sessions/{thread_id}", {"title": HOSTILE})
    text = export(user, thread_id).text

    assert effects(text) <= {"details", "summary"}
    # What was asked can't pass for an answer.
    assert [line for line in text.split("\n") if line.startswith("## ")] == [
        line for line in text.split("\n") if line.startswith(("## User · ", "## Assistant · "))
    ]
    assert text.count("\n## ") == 2


@one_shape
def test_chinese_session_is_told_in_chinese(user: Api):
    session_id = make_answered_session(user, title="中继服务器")
    text = export(user, session_id).text

    assert "\n## 用户 · " in text
    assert "**来源**" in text
    assert "<summary>工具调用：search_knowledge_base（" in text


def test_long_session_is_exported_whole_and_in_order(user: Api, server: Server):
    session_id = user.post("/sessions", {})["id"]
    ask(user, "first", thread_id=session_id)
    # As after a task that was deleted: places are not dense.
    places = [place for place in range(3, 460) if place % 7]
    columns = "id, session_id, message_id, position, role, content, content_type, details, created_at"
    values = [
        f"('{uuid4()}', '{session_id}', 'm{n}', {n}, 'user', 'said {n}', 'text', '{{}}', "
        "(SELECT min(created_at) FROM chat_message))"
        for n in places
    ]
    server.sql(f"INSERT INTO chat_message ({columns}) VALUES {', '.join(values)}")
    data = json.loads(export(user, session_id, format="json").content)

    assert [m["content"] for m in data["messages"][2:]] == [f"said {n}" for n in places]
    shown = export(user, session_id).text
    assert [line for line in shown.split("\n") if line.startswith("> said")] == [f"> said {n}" for n in places]


def test_empty_session_is_exported(user: Api):
    session_id = user.post("/sessions", {})["id"]

    assert export(user, session_id).text.startswith("# Untitled session\n")
    assert json.loads(export(user, session_id, format="json").content)["messages"] == []


def test_nobody_exports_what_is_not_theirs(user: Api, other: Api):
    session_id = other.post("/sessions", {})["id"]
    for name in (session_id, str(uuid4())):
        for file_format in ("markdown", "json"):
            user.refused(
                SessionNotFound,
                "GET",
                f"/sessions/{name}/export",
                params={"format": file_format},
            )


@one_shape
def test_unknown_format_is_refused(user: Api):
    session_id = user.post("/sessions", {})["id"]
    details = user.refused(
        InvalidRequest,
        "GET",
        f"/sessions/{session_id}/export",
        params={"format": "pdf"},
    )

    assert details["field"] == "format"
