"""Models that administrators register (seed 002, section 6), over HTTP."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from agents.llm_registry.selection import CONFIGURED_ID, EXTRACTIVE_ID
from core.errors.auth import ModelNotFound, PermissionDenied
from core.errors.base import AgentexError
from core.errors.conflicts import ModelNameTaken
from core.errors.requests import InvalidRequest, InvalidRunInput, UrlNotAllowed
from kb_service.embeddings.catalog import BUILT_IN, DEFAULT
from tests.fixtures.http.client import Api, conforms, unique
from tests.fixtures.llm.model_scripts import UPSTREAM_SECRET
from tests.fixtures.llm.model_server import ModelServer
from tests.fixtures.product.server import Server
from tests.fixtures.runs.agent_runs import NOBODY, camel, run, run_body, text_of, types_of

KEY = "sk-secret-of-the-registry-4711"
# Seed 002, section 6.1.
LISTED = {
    "id": "uuid",
    "name": "GPT-4o",
    "provider": "openai",
    "model_id": "gpt-4o",
    "max_tokens": 4096,
    "temperature": 0.7,
    "is_default": True,
    "enabled": True,
}
PUBLIC = "https://1.1.1.1/v1"


def model_draft(**fields: Any) -> dict[str, Any]:
    """Seed 002, section 6.2, with a name of its own."""
    return {
        "name": unique("GPT-4o"),
        "provider": "openai",
        "base_url": PUBLIC,
        "api_key": KEY,
        "model_id": "gpt-4o",
        "max_tokens": 4096,
        "temperature": 0.7,
        "is_default": False,
        "enabled": True,
        **fields,
    }


@pytest.fixture
def admin(server: Server) -> Iterator[Api]:
    """The administrator, who finds no models and leaves none behind."""
    caller = server.admin()
    clear(caller)
    yield caller
    clear(caller)


def clear(admin: Api) -> None:
    for model in admin.get("/admin/models")["items"]:
        admin.delete(f"/admin/models/{model['id']}")


def ids_of(caller: Api, **params: str) -> list[str]:
    return [model["id"] for model in caller.get("/models", **params)["items"]]


def default_of(caller: Api) -> str:
    (default,) = [one["id"] for one in caller.get("/models")["items"] if one["is_default"]]
    return default


def test_registered_model_is_listed_as_documented_and_its_key_nowhere(server: Server, admin: Api, user: Api):
    roles = [row["id"] for row in server.sql("SELECT id FROM role WHERE name = 'user'")]
    body = model_draft(is_default=True, role_access=roles, user_access=[user.user_id])
    made = admin.request("POST", "/admin/models", json=body)
    model = made.json()["data"]
    read = admin.request("GET", f"/admin/models/{model['id']}")
    changed = admin.request("PUT", f"/admin/models/{model['id']}", json={"temperature": 0})
    listed = user.request("GET", "/models")

    (shown,) = [one for one in listed.json()["data"]["items"] if one["id"] == model["id"]]
    conforms(shown, LISTED)
    assert model["has_secret"] is True
    assert (model["role_access"], model["user_access"]) == (roles, [user.user_id])
    assert not {"base_url", "has_secret", "options"} & set(shown)
    assert (changed.json()["data"]["temperature"], shown["temperature"]) == (0, 0)
    row = server.sql("SELECT * FROM registered_model WHERE id = :id", id=model["id"])
    answers = made.text + read.text + changed.text + listed.text
    audit = str(server.sql("SELECT * FROM audit_entry"))
    assert model["id"] in audit
    for place in (answers, str(row), audit, server.text):
        assert KEY not in place


def test_default_falls_back_when_its_model_goes(admin: Api, user: Api):
    first = admin.post("/admin/models", model_draft(is_default=True))["id"]
    second = admin.post("/admin/models", model_draft(is_default=True))["id"]
    assert default_of(user) == second
    assert admin.get(f"/admin/models/{first}")["is_default"] is False

    # What is switched off is offered to nobody, and the default no more.
    assert admin.put(f"/admin/models/{second}", {"enabled": False})["is_default"] is False
    assert (default_of(user), second in ids_of(user)) == (EXTRACTIVE_ID, False)
    admin.put(f"/admin/models/{first}", {"is_default": True})
    assert default_of(user) == first
    admin.delete(f"/admin/models/{first}")
    assert default_of(user) == EXTRACTIVE_ID
    for method in ("GET", "PUT", "DELETE"):
        body = {} if method != "PUT" else {"json": {}}
        admin.refused(ModelNotFound, method, f"/admin/models/{first}", **body)


def test_model_is_there_for_its_roles_and_users_only(server: Server, admin: Api, user: Api, other: Api):
    rows = server.sql("SELECT id, name FROM role")
    roles = {row["name"]: row["id"] for row in rows}
    mine = admin.post("/admin/models", model_draft(user_access=[user.user_id], is_default=True))["id"]
    developers = admin.post("/admin/models", model_draft(role_access=[roles["developer"]]))["id"]
    nobodys = admin.post("/admin/models", model_draft(role_access=[], user_access=[]))["id"]
    everybodys = admin.post("/admin/models", model_draft())["id"]

    registered = {mine, developers, nobodys, everybodys}
    assert registered & set(ids_of(user)) == {mine, everybodys}
    assert registered & set(ids_of(other)) == {everybodys}
    assert registered <= set(ids_of(admin))
    # Who may not use the default has the installation's own.
    assert (default_of(user), default_of(other)) == (mine, EXTRACTIVE_ID)
    absent = str(uuid4())
    path = "/models/{}/test"
    answers = [other.request("POST", path.format(id_)).text for id_ in (mine, nobodys, absent)]
    assert len(set(answers)) == 1
    other.refused(ModelNotFound, "POST", path.format(mine))
    sql = 'UPDATE "user" SET role_id = :role WHERE id = :id'
    server.sql(sql, role=roles["developer"], id=other.user_id)
    assert registered & set(ids_of(other)) == {developers, everybodys}
    # The account's own list decides alone where there is one.
    admin.put(f"/admin/users/{other.user_id}", {"model_access": [nobodys]})
    assert set(ids_of(other)) == {nobodys, EXTRACTIVE_ID}
    other.refused(ModelNotFound, "POST", path.format(everybodys))
    admin.put(f"/admin/users/{other.user_id}", {"model_access": None})
    # A run says the same of what is not there and of what is not for the caller.
    texts = {refused_run(other, id_) for id_ in (mine, nobodys)}
    assert texts == {refused_run(other, absent)}


def refused_run(caller: Api, model_id: str) -> str:
    body = run_body("Hello", forwarded_props={"model_id": model_id})
    answer = caller.request("POST", "/agent/run", json=body)
    assert answer.json()["code"] == InvalidRunInput.code
    assert answer.json()["details"]["field"] == "forwarded_props.model_id"
    return answer.text


def test_only_who_manages_models_comes_near_the_registry(server: Server, admin: Api, user: Api):
    model_id = admin.post("/admin/models", model_draft())["id"]
    for method, path, body in (
        ("GET", "/admin/models", None),
        ("POST", "/admin/models", model_draft()),
        ("GET", f"/admin/models/{model_id}", None),
        ("PUT", f"/admin/models/{model_id}", {"name": "mine"}),
        ("DELETE", f"/admin/models/{model_id}", None),
        ("POST", "/admin/models/test", model_draft()),
        ("GET", "/admin/model-providers", None),
        ("GET", "/models/usage?scope=all", None),
        ("GET", f"/models/usage?user_id={uuid4()}", None),
    ):
        details = user.refused(PermissionDenied, method, path, json=body)
        assert details == {"permission": "models:manage"}
    assert len(admin.get("/admin/models")["items"]) == 1


REFUSED: dict[str, tuple[dict[str, Any], type[AgentexError], str]] = {
    "unknown provider": ({"provider": "acme"}, InvalidRequest, "provider"),
    "no address": (
        {"provider": "openai-compatible", "base_url": None},
        InvalidRequest,
        "base_url",
    ),
    "private address": (
        {"base_url": "http://169.254.169.254/latest"},
        UrlNotAllowed,
        "base_url",
    ),
    "other scheme": ({"base_url": "file:///etc/passwd"}, UrlNotAllowed, "base_url"),
    "credentials": ({"base_url": "https://a:b@1.1.1.1"}, UrlNotAllowed, "base_url"),
    "query": ({"base_url": f"{PUBLIC}?a=b"}, InvalidRequest, "base_url"),
    "default but off": (
        {"is_default": True, "enabled": False},
        InvalidRequest,
        "is_default",
    ),
    "unknown role": ({"role_access": [str(uuid4())]}, InvalidRequest, "role_access"),
    "unknown user": ({"user_access": ["x"]}, InvalidRequest, "user_access"),
    "temperature": ({"temperature": 2.1}, InvalidRequest, "temperature"),
    "own option": ({"options": {"max_tokens": 1}}, InvalidRequest, "options"),
    "unknown option": ({"options": {"x": 1}}, InvalidRequest, "options.x"),
    "option no database takes": (
        {"options": {"extra_body": {"a": "\x00"}}},
        InvalidRequest,
        "options",
    ),
    "mass assignment": ({"revision": 7}, InvalidRequest, "revision"),
}


def test_what_can_not_be_registered_is_refused_whole(admin: Api):
    model_id = admin.post("/admin/models", model_draft())["id"]
    before = admin.get("/admin/models")
    for name, (fields, code, field) in REFUSED.items():
        for method, path, body in (
            ("POST", "/admin/models", model_draft(**fields)),
            ("PUT", f"/admin/models/{model_id}", fields),
        ):
            details = admin.refused(code, method, path, json=body)
            assert details["field"] == field, name
    taken = model_draft(name=before["items"][0]["name"])
    admin.refused(ModelNameTaken, "POST", "/admin/models", json=taken)
    assert admin.get("/admin/models") == before


def test_key_does_not_follow_to_another_address(admin: Api):
    path = f"/admin/models/{admin.post('/admin/models', model_draft())['id']}"
    elsewhere = {"base_url": "https://1.0.0.1/v1"}
    details = admin.refused(InvalidRequest, "PUT", path, json=elsewhere)
    assert details["field"] == "api_key"
    assert admin.put(path, {"base_url": "https://1.1.1.1/v2"})["has_secret"] is True
    assert admin.put(path, {**elsewhere, "api_key": None})["has_secret"] is False
    assert admin.put(path, {"api_key": "sk-new"})["has_secret"] is True


def test_embedding_models_of_the_installation_are_listed(user: Api):
    models = user.get("/models", type="embedding")["items"]
    assert [model["name"] for model in models] == [model.name for model in BUILT_IN]
    assert [model["is_default"] for model in models] == [model is DEFAULT for model in BUILT_IN]
    assert models[-1]["languages"] == ["en"]
    for model in models:
        assert (model["type"], model["built_in"]) == ("embedding", True)
        assert user.post(f"/models/{model['id']}/test")["success"] is True


# --- with an endpoint that answers


@pytest.fixture
def manager(llm_product: Server) -> Iterator[Api]:
    """The administrator of the product with a model of its own, where others may be called, too."""
    caller = llm_product.admin()
    clear(caller)
    yield caller
    clear(caller)


def scripted_draft(endpoint: ModelServer, script: str, **fields: Any) -> dict[str, Any]:
    """A model behind the scripted endpoint."""
    given = {"provider": "openai-compatible", "base_url": endpoint.base_url, "model_id": script}
    return model_draft(**{**given, **fields})


@pytest.mark.parametrize(
    ("script", "fault", "told"),
    [
        ("plain", None, "Connection successful"),
        ("unauthorized", "key_refused", "set the model's api_key to a valid one"),
        ("unknown-model", "unknown_model", "correct its model_id"),
        ("web-page", "not_a_model", "correct the model's base_url"),
    ],
)
def test_connection_is_tested_with_a_reason(
    manager: Api, llm_product: Server, scripted_llm: ModelServer, script: str, fault: str | None, told: str
):
    # The same for who manages models and for who may use it.
    model_id = manager.post("/admin/models", scripted_draft(scripted_llm, script))["id"]
    answer = llm_product.person().post(f"/models/{model_id}/test")
    # Seed 002, section 6.5.
    conforms(answer, {"success": True, "latency": 150, "message": "Connection successful"})
    assert (answer["success"], answer["fault"]) == (fault is None, fault)
    assert told in answer["message"]
    assert "AGENTEX" not in str(answer)
    assert UPSTREAM_SECRET not in str(answer) + llm_product.text
    assert scripted_llm.run_requests[-1].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("script", "fault"), [("plain", None), ("unauthorized", "key_refused"), ("unknown-model", "unknown_model")]
)
def test_model_is_tested_before_it_is_registered(
    manager: Api, llm_product: Server, scripted_llm: ModelServer, script: str, fault: str | None
):
    answer = manager.post("/admin/models/test", scripted_draft(scripted_llm, script))
    assert (answer["success"], answer["fault"]) == (fault is None, fault)
    assert (answer["message_zh"] == "连接成功") is (fault is None)
    asked = scripted_llm.run_requests[-1]
    assert (asked.headers["authorization"], asked.body["temperature"]) == (f"Bearer {KEY}", 0.7)
    assert manager.get("/admin/models")["items"] == []
    for place in (str(answer), llm_product.text, str(llm_product.sql("SELECT * FROM audit_entry"))):
        assert KEY not in place


def test_edits_are_tested_with_the_key_that_is_kept_at_its_own_address_only(manager: Api, scripted_llm: ModelServer):
    draft = scripted_draft(scripted_llm, "plain")
    model = manager.post("/admin/models", draft)
    edits = {name: value for name, value in draft.items() if name != "api_key"} | {"registered_id": model["id"]}
    changed = manager.post("/admin/models/test", {**edits, "model_id": "content-parts"})
    assert changed["success"] is True
    asked = scripted_llm.run_requests[-1]
    assert (asked.body["model"], asked.headers["authorization"]) == ("content-parts", f"Bearer {KEY}")
    assert manager.get(f"/admin/models/{model['id']}") == model

    elsewhere = {**edits, "base_url": f"http://{NOBODY}/v1"}
    details = manager.refused(InvalidRequest, "POST", "/admin/models/test", json=elsewhere)
    assert details["field"] == "api_key"
    manager.post("/admin/models/test", {**edits, "api_key": None})
    assert "authorization" not in scripted_llm.run_requests[-1].headers
    asked_before = len(scripted_llm.run_requests)
    for wrong, code in (
        ({"base_url": "http://169.254.169.254/v1"}, UrlNotAllowed),
        ({"registered_id": "x"}, ModelNotFound),
    ):
        manager.refused(code, "POST", "/admin/models/test", json={**edits, **wrong})
    assert len(scripted_llm.run_requests) == asked_before


def test_endpoint_that_can_not_be_reached_is_named(manager: Api, scripted_llm: ModelServer):
    found = {}
    targets = {
        "unreachable": {"base_url": f"http://{NOBODY}/v1"},
        # It speaks plain HTTP there.
        "tls_failed": {"base_url": scripted_llm.base_url.replace("http:", "https:")},
        "no_answer_in_time": {"model_id": "silent", "options": {"timeout_seconds": 0.2}},
    }
    for fault, fields in targets.items():
        model_id = manager.post("/admin/models", scripted_draft(scripted_llm, "plain", **fields))["id"]
        found[fault] = manager.post(f"/models/{model_id}/test")["fault"]
    assert found == {fault: fault for fault in targets}


def test_address_is_judged_again_when_it_is_called(manager: Api, llm_product: Server, scripted_llm: ModelServer):
    model_id = manager.post("/admin/models", scripted_draft(scripted_llm, "plain"))["id"]
    sql = "UPDATE registered_model SET base_url = :url, revision = revision + 1 WHERE id = :id"
    llm_product.sql(sql, url="http://169.254.169.254/v1", id=model_id)
    asked = len(scripted_llm.run_requests)
    answer = manager.post(f"/models/{model_id}/test")
    assert (answer["success"], answer["fault"]) == (False, "address_forbidden")
    events = run_on(llm_product.person(), "Hello", model_id)
    assert events[-1]["type"] == "RUN_ERROR"
    assert len(scripted_llm.run_requests) == asked


def test_installations_own_model_is_not_for_who_is_given_others(
    manager: Api, llm_product: Server, scripted_llm: ModelServer
):
    user = llm_product.person()
    model_id = manager.post("/admin/models", scripted_draft(scripted_llm, "plain"))["id"]
    assert default_of(user) == CONFIGURED_ID
    account = f"/admin/users/{user.user_id}"
    manager.put(account, {"model_access": [model_id]})
    assert (default_of(user), set(ids_of(user))) == (model_id, {model_id, EXTRACTIVE_ID})
    assert text_of(run_on(user, "Hi #unauthorized")) == "Hello from the model."
    refused_run(user, CONFIGURED_ID)
    manager.put(account, {"model_access": []})
    assert (default_of(user), ids_of(user)) == (EXTRACTIVE_ID, [EXTRACTIVE_ID])


def run_on(caller: Api, question: str, model_id: str | None = None, **fields: Any) -> list[Any]:
    props = {"agent_type": "react"} | ({"model_id": model_id} if model_id else {})
    return run(caller, camel(run_body(question, forwarded_props=props, **fields)))


def test_run_is_answered_by_the_model_it_names(manager: Api, llm_product: Server, scripted_llm: ModelServer):
    user = llm_product.person()
    fields = {"input_price": 2, "output_price": 10, "options": {"extra_body": {"seed": 7}}}
    model = manager.post("/admin/models", scripted_draft(scripted_llm, "plain", **fields))
    thread_id = str(uuid4())
    events = run_on(user, "Hi #unauthorized", model["id"], thread_id=thread_id)

    assert text_of(events) == "Hello from the model."
    asked = scripted_llm.run_requests[-1]
    assert (asked.body["temperature"], asked.body["max_tokens"]) == (0.7, 4096)
    assert (asked.body["model"], asked.body["seed"]) == ("plain", 7)
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    about = user.get(f"/sessions/{thread_id}/messages")["items"][-1]["metadata"]
    assert (about["model_id"], about["model"]) == (model["id"], "plain")
    assert events[-1]["usage"][0]["model"] == "plain"
    # Without a name: the installation's own.
    assert run_on(user, "Hi #unauthorized")[-1]["type"] == "RUN_ERROR"
    run_on(user, "Hi #plain", CONFIGURED_ID)

    usage = user.get("/models/usage")
    rows = {row["model_id"]: row for row in usage["items"]}
    assert set(rows) == {model["id"], CONFIGURED_ID}
    row = rows[model["id"]]
    spent = {"runs": 1, "prompt_tokens": 11, "completion_tokens": 7}
    assert {name: row[name] for name in spent} == spent
    assert row["cost"] == pytest.approx((11 * 2 + 7 * 10) / 1e6)
    assert (row["name"], row["username"], row["model"]) == (model["name"], user.name, "plain")
    assert rows[CONFIGURED_ID]["runs"] == 2
    assert rows[CONFIGURED_ID]["cost"] is None
    assert usage["totals"]["runs"] == 3
    assert usage["totals"]["cost"] == pytest.approx(row["cost"])
    # It is the operator's bill: deleting the session takes nothing off, nor does the model's end.
    user.delete(f"/sessions/{thread_id}")
    manager.delete(f"/admin/models/{model['id']}")
    everybodys = manager.get("/models/usage", scope="all", user_id=user.user_id)
    assert {r["model_id"]: r["cost"] for r in everybodys["items"]} == {id_: r["cost"] for id_, r in rows.items()}
    assert [r for r in manager.get("/models/usage")["items"] if r["user_id"] == user.user_id] == []
    user.refused(InvalidRequest, "GET", "/models/usage?since=2020-01-01")


def test_change_of_the_registry_acts_on_the_next_run(manager: Api, llm_product: Server, scripted_llm: ModelServer):
    user = llm_product.person()
    model = manager.post("/admin/models", scripted_draft(scripted_llm, "plain", is_default=True))
    config = {"agent_type": "react", "model_id": model["id"]}
    session = user.post("/sessions", {"title": "", "config": config})
    assert text_of(run_on(user, "Hi #unauthorized")) == "Hello from the model."
    manager.put(f"/admin/models/{model['id']}", {"model_id": "content-parts"})
    assert text_of(run_on(user, "Hi #unauthorized")) == "Hi"
    # The session's own choice.
    assert text_of(run_on(user, "Hi #unauthorized", thread_id=session["id"])) == "Hi"
    manager.put(f"/admin/models/{model['id']}", {"enabled": False})
    body = run_body("Hi", thread_id=session["id"])
    details = user.refused(InvalidRunInput, "POST", "/agent/run", json=body)
    assert details["field"] == "session.config.model_id"
    assert text_of(run_on(user, "Hi #plain")) == "Hello from the model."
    assert scripted_llm.run_requests[-1].body["model"] == "by-question"


def test_session_on_a_registered_model_is_as_documented(manager: Api, llm_product: Server, scripted_llm: ModelServer):
    # Seed 002, sections 5.1, 5.2, 5.4 and 5.6: a model's id is a UUID there.
    user = llm_product.person()
    model_id = manager.post("/admin/models", scripted_draft(scripted_llm, "plain"))["id"]
    none: dict[str, list[str]] = {name: [] for name in ("knowledge_base_ids", "mcp_connection_ids", "skill_ids")}
    config = {"agent_type": "react", "model_id": model_id, **none}
    made = user.post("/sessions", {"title": "新对话", "config": config})
    assert (made["title"], made["config"]) == ("新对话", config)
    assert text_of(run_on(user, "查询服务器状态", thread_id=made["id"])) == "Hello from the model."
    (listed,) = user.get("/sessions", is_archived=False)["items"]
    conforms(listed["config"], {"agent_type": "react", "model_id": "uuid"})
    question, answer = user.get(f"/sessions/{made['id']}/messages")["items"]
    assert (question["content_type"], answer["content_type"]) == ("text", "markdown")
    given = answer["metadata"]
    assert (given["thinking"], given["tool_calls"]) == ([], [])
    conforms(given["usage"], {"prompt_tokens": 100, "completion_tokens": 50})
    assert (given["model_id"], given["agent_type"]) == (model_id, "react")
    changed = user.put(f"/sessions/{made['id']}", {"title": "新标题", "config": config})
    assert (changed["title"], changed["config"]) == ("新标题", config)


def test_task_goes_on_with_the_model_it_began_with(manager: Api, llm_product: Server, scripted_llm: ModelServer):
    user = llm_product.person()
    model = manager.post("/admin/models", scripted_draft(scripted_llm, "asks"))
    other = manager.post("/admin/models", scripted_draft(scripted_llm, "plain"))
    for taken in (False, True):
        thread_id = str(uuid4())
        first = run_on(user, "Search, please", model["id"], thread_id=thread_id)
        waits = first[-1]["outcome"]
        if taken:
            manager.delete(f"/admin/models/{model['id']}")
        answers = [{"interruptId": one["id"], "status": "cancelled"} for one in waits["interrupts"]]
        body = camel(run_body("", thread_id=thread_id, forwarded_props={"model_id": other["id"]}))
        events = run(user, {**body, "messages": [], "resume": answers})
        if taken:
            assert events[-1]["type"] == "RUN_ERROR"
            assert "taken away" in events[-1]["message"]
        else:
            assert types_of(events)[-1] == "RUN_FINISHED"
            assert scripted_llm.run_requests[-1].body["model"] == "asks"
    rows = {row["model_id"]: row for row in user.get("/models/usage")["items"]}
    # The tokens of the first run are in the second one's too, and count once.
    assert rows[model["id"]]["prompt_tokens"] == 11 * 3
    assert other["id"] not in rows
