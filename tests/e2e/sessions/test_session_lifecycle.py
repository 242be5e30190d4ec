"""Archiving, titles and deletion of sessions over HTTP (docs/reference/agentex-api.md, section 5)."""

from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest

from core.errors.auth import RunNotFound, SessionNotFound
from core.errors.conflicts import SessionArchived
from tests.fixtures.http.client import Api, check_error
from tests.fixtures.llm.model_server import ModelServer
from tests.fixtures.product.server import Server
from tests.fixtures.runs.agent_runs import Run, ask, camel, run, run_body

FLAG = "\U0001f1e8\U0001f1f3"
FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"


def archived(user: Api) -> str:
    thread_id = str(uuid4())
    ask(user, "hello", thread_id=thread_id)
    user.put(f"/sessions/{thread_id}", {"is_archived": True})
    return thread_id


def test_archived_session_is_read_but_not_asked_in(user: Api):
    thread_id = archived(user)
    before = user.get(f"/sessions/{thread_id}/messages")
    body = run_body("again", thread_id=thread_id)
    task = {"user_id": user.user_id, "session_id": thread_id, "task_id": "t", "query": "again"}
    asynchronous = {**camel(body), "forwardedProps": {"agent_type": "react"}}
    for path, asked in (
        ("/agent/run", body),
        ("/agent", camel(body)),
        ("/agent/runs", asynchronous),
        ("/agent/invoke", task),
    ):
        user.refused(SessionArchived, "POST", path, json=asked)

    assert user.get(f"/sessions/{thread_id}/messages") == before
    history = user.request("GET", "/agent/history", params={"threadId": thread_id})
    assert len(history.json()["messages"]) == 2
    user.put(f"/sessions/{thread_id}", {"is_archived": False})
    assert run(user, body)[-1]["type"] == "RUN_FINISHED"


def test_session_may_be_archived_while_it_answers(llm_product: Server, scripted_llm: ModelServer):
    user, body = llm_product.person(), run_body("Hello #slow")
    path = f"/sessions/{body['thread_id']}"
    with Run(user, body) as streaming:
        streaming.until("TEXT_MESSAGE_CONTENT")
        user.put(path, {"is_archived": True})
        scripted_llm.release.set()
        assert streaming.finish()[-1]["type"] == "RUN_FINISHED"

    assert user.get(path)["message_count"] == 2


@pytest.mark.parametrize("is_task_dialect", [False, True])
def test_deleted_session_stops_its_run_and_leaves_nothing(
    llm_product: Server, scripted_llm: ModelServer, is_task_dialect: bool
):
    user, body = llm_product.person(), run_body("Hello #slow")
    path = f"/sessions/{body['thread_id']}"
    tasks = f"/agent/session/{user.user_id}/{body['thread_id']}"
    with Run(user, body) as streaming:
        streaming.until("TEXT_MESSAGE_CONTENT")
        answer = user.request("DELETE", tasks if is_task_dialect else path)
        assert answer.status_code == 200, answer.text
        streaming.finish()

    # The model was told, too, that nobody waits for it.
    assert scripted_llm.hung_up.wait(5)
    user.refused(SessionNotFound, "GET", path)
    user.refused(RunNotFound, "GET", f"/agent/run/{body['run_id']}/events")
    assert llm_product.count("agent_run", owner_id=user.user_id) == 0
    assert llm_product.count("chat_session", owner_id=user.user_id) == 0


def test_session_is_deleted_once_when_many_delete_it(llm_product: Server, scripted_llm: ModelServer):
    user, body = llm_product.person(), run_body("Hello #slow")
    path = f"/sessions/{body['thread_id']}"
    with Run(user, body) as streaming:
        streaming.until("TEXT_MESSAGE_CONTENT")
        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(lambda _: user.request("DELETE", path), range(4)))
        streaming.finish()

    ok = [answer for answer in answers if answer.status_code == 200]
    assert len(ok) == 1
    for answer in answers:
        if answer not in ok:
            check_error(answer, SessionNotFound)
    assert llm_product.count("agent_run", owner_id=user.user_id) == 0


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("中继服务器监听哪个端口？", "中继服务器监听哪个端口？"),
        ("  How\tdo I\n\nstart it?  ", "How do I start it?"),
        ("x" * 60, "x" * 60),
        ("x" * 61, "x" * 59 + "…"),
        ("汉" * 500, "汉" * 59 + "…"),
        # Neither a flag nor a family nor an accent is torn apart.
        ("x" * 58 + FLAG + "y" * 9, "x" * 58 + "…"),
        ("x" * 57 + FLAG + "y" * 9, "x" * 57 + FLAG + "…"),
        ("x" * 56 + FAMILY + "y" * 9, "x" * 56 + "…"),
        ("x" * 57 + "ye\u0301" + "z" * 9, "x" * 57 + "y…"),
        # What turns the direction of what follows in a list of titles goes.
        ("\u202eabc\u2066 def\x07", "abc def"),
    ],
)
def test_title_is_short_and_whole(embedded: Server, question: str, title: str):
    user, thread_id = embedded.person(), str(uuid4())
    ask(user, question, thread_id=thread_id)

    assert user.get(f"/sessions/{thread_id}")["title"] == title


def test_title_is_the_first_question_s_when_a_client_sends_them_all(user: Api):
    body = run_body("third")
    earlier = [{"id": str(uuid4()), "role": "user", "content": text} for text in ("first", "2nd")]
    run(user, {**body, "messages": [*earlier, *body["messages"]]})

    assert user.get(f"/sessions/{body['thread_id']}")["title"] == "first"


@pytest.mark.parametrize(("given", "kept"), [(" mine\n", "mine"), ("汉" * 200, "汉" * 200)])
def test_title_of_a_person_is_kept(user: Api, given: str, kept: str):
    session_id = user.post("/sessions", {})["id"]
    ask(user, "hello", thread_id=session_id)
    assert user.put(f"/sessions/{session_id}", {"title": given})["title"] == kept
    ask(user, "hello again", thread_id=session_id)

    assert user.get(f"/sessions/{session_id}")["title"] == kept


def test_blank_title_is_none(user: Api):
    session_id = user.post("/sessions", {"title": " \n "})["id"]
    ask(user, "hello", thread_id=session_id)

    assert user.get(f"/sessions/{session_id}")["title"] == "hello"
