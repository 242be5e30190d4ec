"""Every row of docs/reference/agent-tasks.md, at the root and under /api/v1."""

import time
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import httpx
import pytest

from core.errors.auth import PermissionDenied, SessionNotFound, UserNotFound
from core.errors.conflicts import InterruptNotOpen
from core.errors.requests import InterruptAnswerInvalid
from tests.fixtures.http.client import Api, check_error, eventually
from tests.fixtures.product.server import Server

ASK_CONFIRM = '/tool confirm_action {"message": "Delete all?"}'
ASK_INPUT = '/tool request_input {"prompt": "Which address?"}'
WRITE = (
    '/tool calendar_write {"action": "create", "event_timezone": "UTC", "title": "Talk", "start": "2026-12-01T10:00"}'
)
PREFIXES = pytest.mark.parametrize("prefix", ["", "/api/v1"])


class Tasks:
    """The paths of the document, asked by one person."""

    def __init__(self, api: Api, prefix: str = "") -> None:
        self.api = api
        self.me = api.get("/users/me")["username"]
        self.session = f"session-{uuid4()}"
        self._prefix = prefix

    def ask(self, method: str, path: str, **given: Any) -> httpx.Response:
        return self.api.http.request(method, f"{self._prefix}{path}", headers=self.api.headers, **given)

    def ok(self, method: str, path: str, **given: Any) -> dict[str, Any]:
        answer = self.ask(method, path, **given)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def ids(self, task: str) -> dict[str, str]:
        return {"user_id": self.me, "session_id": self.session, "task_id": task}

    def invoke(self, query: str, **fields: str) -> str:
        task = f"task-{uuid4()}"
        body = {**self.ids(task), "query": query, **fields}
        assert self.ok("POST", "/agent/invoke", json=body) == self.ids(task)
        return task

    def status(self, task: str) -> dict[str, Any]:
        return self.ok("GET", f"/agent/status/{self.me}/{self.session}/{task}")

    def wait(self, task: str, status: str) -> dict[str, Any]:
        eventually(lambda: self.status(task)["status"] == status, what=status)
        return self.status(task)

    def resume(self, task: str, kind: str, args: dict[str, Any] | None = None) -> httpx.Response:
        body = {**self.ids(task), "response_type": kind, "args": args}
        return self.ask("POST", "/agent/resume", json=body)


@pytest.fixture
def make(embedded: Server) -> Callable[..., Tasks]:
    return lambda prefix="": Tasks(embedded.person(), prefix)


@PREFIXES
def test_invoke_runs_a_task_whose_status_tells_how_it_went(make, prefix: str):
    tasks = make(prefix)
    before = time.time()
    task = tasks.invoke("hello", system_message="Be brief.")
    done = tasks.wait(task, "completed")

    assert (done["user_id"], done["last_query"], done["message"]) == (tasks.me, "hello", None)
    assert before - 5 < done["last_updated"] < time.time() + 5
    last = done["last_response"]
    assert (last["session_id"], last["task_id"], last["status"]) == (
        tasks.session,
        task,
        "completed",
    )
    assert last["result"]["content"]
    assert last["interrupt_data"] is None


@PREFIXES
def test_status_of_a_task_that_is_not_there_is_not_found(make, prefix: str):
    tasks = make(prefix)
    # Neither without its session, nor in one that has other tasks, nor in one that has none.
    assert tasks.status("none")["status"] == "not_found"
    tasks.wait(tasks.invoke("hello"), "completed")
    missing = tasks.status("none")
    assert (missing["status"], missing["last_response"]) == ("not_found", None)
    tasks.session = tasks.api.post("/sessions", {"title": "empty"})["id"]
    assert tasks.status("none")["status"] == "not_found"


def test_status_interrupted_carries_what_is_asked(make):
    tasks = make()
    task = tasks.invoke(ASK_CONFIRM)
    seen = tasks.wait(task, "interrupted")

    (interrupt,) = seen["last_response"]["interrupt_data"]["interrupts"]
    assert interrupt["message"] == "Delete all?"


@pytest.mark.parametrize(("kind", "confirmed"), [("accept", "true"), ("reject", "false")])
def test_response_type_accept_and_reject(make, kind: str, confirmed: str):
    tasks = make()
    task = tasks.invoke(ASK_CONFIRM)
    tasks.wait(task, "interrupted")
    assert tasks.resume(task, kind).json() == tasks.ids(task)

    done = tasks.wait(task, "completed")
    assert f'"confirmed": {confirmed}' in done["last_response"]["result"]["content"]


def test_response_type_response(make):
    tasks = make()
    task = tasks.invoke(ASK_INPUT)
    tasks.wait(task, "interrupted")
    assert tasks.resume(task, "response", {"response": "a@example.com"}).status_code == 200

    assert "a@example.com" in tasks.wait(task, "completed")["last_response"]["result"]["content"]


@pytest.mark.parametrize(
    ("kind", "args"),
    [("edit", {"a": 1}), ("response", None), ("accept", None)],
)
def test_response_that_does_not_answer_is_refused_and_the_task_waits_on(make, kind: str, args: dict[str, Any] | None):
    tasks = make()
    task = tasks.invoke(ASK_INPUT)
    tasks.wait(task, "interrupted")
    check_error(tasks.resume(task, kind, args), InterruptAnswerInvalid)

    assert tasks.status(task)["status"] == "interrupted"


def test_unknown_response_type_is_refused(make):
    tasks = make()
    assert tasks.resume("none", "perhaps").status_code == 400


def test_task_that_does_not_wait_can_not_be_resumed(make):
    tasks = make()
    check_error(tasks.resume("none", "accept"), SessionNotFound)
    task = tasks.invoke("hello")
    tasks.wait(task, "completed")
    check_error(tasks.resume(task, "accept"), InterruptNotOpen)


@PREFIXES
def test_sessions_tasks_and_active_session(make, prefix: str):
    tasks = make(prefix)
    assert tasks.ok("GET", f"/agent/sessionids/{tasks.me}") == {"session_ids": []}
    assert tasks.ok("GET", f"/agent/active/sessionid/{tasks.me}") == {"active_session_id": ""}
    first = tasks.invoke("hello")
    tasks.wait(first, "completed")
    second = tasks.invoke("hello again")
    tasks.wait(second, "completed")
    older, tasks.session = tasks.session, f"session-{uuid4()}"
    tasks.wait(tasks.invoke("elsewhere"), "completed")

    listed = tasks.ok("GET", f"/agent/sessionids/{tasks.me}")
    assert listed == {"session_ids": [tasks.session, older]}
    active = tasks.ok("GET", f"/agent/active/sessionid/{tasks.me}")
    assert active == {"active_session_id": tasks.session}
    told = tasks.ok("GET", f"/agent/tasks/{tasks.me}/{older}")
    assert told == {"task_ids": [first, second]}
    assert tasks.ok("GET", "/system/info") == {"sessions_count": 2, "active_users": []}


@PREFIXES
def test_write_longterm_remembers(make, prefix: str):
    tasks = make(prefix)
    body = {"user_id": tasks.me, "memory_info": "我喜欢简短的回答。"}
    noted = tasks.ok("POST", "/agent/write/longterm", json=body)

    assert (noted["status"], noted["message"]) == ("success", "记忆存储成功")
    kept = tasks.api.get(f"/memories/{noted['memory_id']}")
    assert kept["text"] == "我喜欢简短的回答。"


def test_delete_session_and_task(make):
    tasks = make()
    kept = tasks.invoke("hello")
    tasks.wait(kept, "completed")
    gone = tasks.invoke(ASK_CONFIRM)
    tasks.wait(gone, "interrupted")
    answer = tasks.ok("DELETE", f"/agent/session/{tasks.me}/{tasks.session}/{gone}")
    assert answer == {
        "status": "success",
        "message": f"用户 {tasks.me}:{tasks.session}:{gone} 的任务已删除",
    }
    assert tasks.status(gone)["status"] == "not_found"
    assert tasks.status(kept)["status"] == "completed"
    # Nothing waits any more: the session takes the next question.
    tasks.wait(tasks.invoke("hello again"), "completed")
    answer = tasks.ok("DELETE", f"/agent/session/{tasks.me}/{tasks.session}")
    assert answer["message"] == f"用户 {tasks.me}:{tasks.session} 的会话已删除"
    assert tasks.status(kept)["status"] == "not_found"


def test_user_id_must_be_the_callers_unless_an_administrator_asks(make, embedded: Server):
    tasks, stranger = make(), make()
    task = tasks.invoke("hello")
    tasks.wait(task, "completed")
    path = f"/agent/status/{tasks.me}/{tasks.session}/{task}"
    check_error(stranger.ask("GET", path), UserNotFound)
    body = {"user_id": tasks.me, "memory_info": "x"}
    check_error(stranger.ask("POST", "/agent/write/longterm", json=body), UserNotFound)
    # The same ids of one's own are something else.
    own = f"/agent/status/{stranger.me}/{tasks.session}/{task}"
    assert stranger.ok("GET", own)["status"] == "not_found"
    admin = Tasks(embedded.admin())
    assert admin.ok("GET", path)["status"] == "completed"
    assert admin.ok("GET", "/system/info")["sessions_count"] >= 1
    nobody = admin.ask("GET", f"/agent/sessionids/{uuid4()}")
    check_error(nobody, UserNotFound)
    # Nor an administrator's key that may look at the administrator's own sessions only.
    bounds = {"name": "narrow", "scopes": ["session:view"]}
    key = admin.api.post("/users/me/api-keys", bounds)["key"]
    narrow = Tasks(embedded.api(**{"X-API-Key": key}))
    check_error(narrow.ask("GET", path), UserNotFound)
    everybody = admin.ok("GET", "/system/info")["sessions_count"]
    assert narrow.ok("GET", "/system/info")["sessions_count"] < everybody


def test_not_even_an_administrator_acts_in_another_persons_name(make, embedded: Server):
    tasks, admin = make(), Tasks(embedded.admin())
    task = tasks.invoke("hello")
    tasks.wait(task, "completed")
    tasks.api.post("/memories", {"text": "My zebra is called Stripe."})
    ids = {"user_id": tasks.me, "session_id": tasks.session}
    for path, body in (
        ("/agent/invoke", {**ids, "task_id": "new", "query": "What is my zebra called?"}),
        ("/agent/resume", {**ids, "task_id": task, "response_type": "accept"}),
        ("/agent/write/longterm", {"user_id": tasks.me, "memory_info": "x"}),
    ):
        details = check_error(admin.ask("POST", path, json=body), PermissionDenied)
        assert details["field"] == "user_id"
    assert tasks.ok("GET", f"/agent/tasks/{tasks.me}/{tasks.session}")["task_ids"] == [task]
    assert tasks.api.get("/memories")["total"] == 1


def test_administrator_who_names_an_id_means_the_account_that_has_it(make, embedded: Server):
    tasks, impostor = make(), make()
    tasks.invoke("hello")
    # As it could be in an older version.
    taken = 'UPDATE "user" SET username = :name, username_key = :name WHERE id = :id'
    embedded.sql(taken, name=tasks.api.user_id, id=impostor.api.user_id)
    admin = Tasks(embedded.admin())
    assert admin.ok("GET", f"/agent/sessionids/{tasks.api.user_id}")["session_ids"] == [tasks.session]


def test_account_that_is_switched_off_is_not_the_administrators(make, embedded: Server):
    tasks, admin = make(), Tasks(embedded.admin())
    for status in ("disabled", "deleted"):
        off = 'UPDATE "user" SET status = :status WHERE id = :id'
        embedded.sql(off, status=status, id=tasks.api.user_id)
        for name in (tasks.me, tasks.api.user_id):
            check_error(admin.ask("GET", f"/agent/sessionids/{name}"), UserNotFound)


@pytest.mark.parametrize("missing", ["user_id", "session_id", "task_id", "query"])
def test_invoke_without_a_required_field_is_refused(make, missing: str):
    tasks = make()
    body = {**tasks.ids("t"), "query": "hello"}
    del body[missing]
    assert tasks.ask("POST", "/agent/invoke", json=body).status_code == 400
