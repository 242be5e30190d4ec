"""Access to other people's objects: private ones are not there, public ones are read-only."""

import json
from uuid import uuid4

from core.errors.auth import KnowledgeBaseNotFound, MemoryNotFound, PermissionDenied, ReadOnly, SessionNotFound
from tests.fixtures.http.client import Api, check_error
from tests.fixtures.product.owned_objects import FILE, REQUESTS, OwnedObjects, fill, filled, run_agent
from tests.fixtures.product.server import Server


def test_every_request_of_the_matrix_succeeds_for_the_owner(server: Server, owned_objects: OwnedObjects):
    deletions = [name for name in REQUESTS if name.startswith("DELETE")]
    # What the present state does not allow.
    conflicts = (
        "/documents/{doc_id}/retry",
        "/documents/{doc_id}/pause",
        "/documents/{doc_id}/resume",
        "/documents/{doc_id}/cancel",
        "/reindex/cutover",
        "/reindex/rollback",
        "/transfers/{transfer_id}/cancel",
        "/sources/{knowledge_source_id}/syncs",
        "/syncs/{sync_id}/cancel",
        "/syncs/{sync_id}/confirm",
        "/review",
    )
    allowed = {name: {200, 409} for name in REQUESTS if name.endswith(conflicts)}
    # Its server is nowhere.
    nowhere = (
        "/{connection_id}/tools",
        "/tools/{tool_name}/call",
        "/{connection_id}/authorize",
        "/{connection_id}/resources",
        "/{connection_id}/resources/read",
        "/{connection_id}/prompts",
        "/prompts/{prompt_name}/get",
    )
    allowed |= {name: {502} for name in REQUESTS if name.endswith(nowhere)}
    # It was never authorised.
    allowed["DELETE /api/v1/mcp/connections/{connection_id}/authorization"] = {409}
    # Nobody has set a language model up.
    allowed["POST /api/v1/skills/{skill_id}/comparison"] = {400}
    # Deleted under another path already.
    allowed |= {name: {200, 404} for name in deletions if "{session_id}" in name}
    last = "DELETE /api/v1/knowledge-bases/{kb_id}"
    order = [name for name in REQUESTS if name not in deletions]
    for name in [*order, *(name for name in deletions if name != last), last]:
        method, _, path = name.partition(" ")
        url = fill(path, owned_objects.ids.__getitem__).removeprefix("/api/v1")
        options = filled(REQUESTS[name], owned_objects.ids.__getitem__)
        answer = owned_objects.owner.request(method, url, **options)
        assert answer.status_code in allowed.get(name, {200}), f"{name}: {answer.text}"


def test_other_persons_things_are_in_no_list_and_no_search(shared_objects: OwnedObjects, other: Api):
    # What is no id of anything.
    names = {shared_objects.ids[name] for name in ("tool_name", "version", "file_path")}
    ids = set(shared_objects.ids.values()) - names
    lists = (
        "/skills",
        "/knowledge-bases",
        "/sessions",
        "/users/me/api-keys",
        "/memories",
        "/mcp/connections",
        "/rules",
        "/rules/sources",
        "/notifications",
    )
    for path in lists:
        text = other.request("GET", path, params={"page_size": 100}).text
        assert not [id_ for id_ in ids if id_ in text]
    assert other.get("/memories", q="What is my zebra called?")["items"] == []
    found = other.post("/search", {"query": "secret zebra noon", "top_k": 100})["results"]
    assert shared_objects.ids["kb_id"] not in {hit["knowledge_base_id"] for hit in found}


def test_search_over_ones_own_and_a_foreign_knowledge_base_is_refused_whole(shared_objects: OwnedObjects, other: Api):
    own = other.create_kb()
    other.ingest(own, "a.md", "# Zebra\n\nMy own zebra.")
    code = KnowledgeBaseNotFound
    for ids in (
        [own, shared_objects.ids["kb_id"]],
        [shared_objects.ids["kb_id"], own],
        [shared_objects.ids["kb_id"]],
    ):
        body = {"query": "zebra", "knowledge_base_ids": ids}
        assert other.refused(code, "POST", "/search", json=body) == {}


def test_run_over_a_foreign_knowledge_base_or_session_is_refused(shared_objects: OwnedObjects, other: Api):
    own = other.create_kb()
    foreign = shared_objects.ids["kb_id"]
    body = {
        "thread_id": str(uuid4()),
        "run_id": str(uuid4()),
        "forwarded_props": {"agent_type": "agentic_rag", "knowledge_base_ids": [own, foreign]},
    }
    text = run_agent(other, **body)
    assert json.loads(text)["code"] == KnowledgeBaseNotFound.code
    assert "noon" not in text
    body["forwarded_props"] = {"agent_type": "agentic_rag", "knowledge_base_ids": [own]}
    body["thread_id"] = shared_objects.ids["session_id"]
    before = shared_objects.state()
    text = run_agent(other, **body)
    assert "noon" not in text
    assert shared_objects.state() == before


def test_session_settings_may_not_name_a_foreign_knowledge_base_in_a_run(shared_objects: OwnedObjects, other: Api):
    config = {"agent_type": "agentic_rag", "knowledge_base_ids": [shared_objects.ids["kb_id"]]}
    answer = other.request("POST", "/sessions", json={"title": "x", "config": config})
    if answer.status_code != 200:
        check_error(answer, KnowledgeBaseNotFound)
        return
    session_id = answer.json()["data"]["id"]
    assert "noon" not in run_agent(other, thread_id=session_id, run_id=str(uuid4()))


def test_public_knowledge_base_can_be_read_and_not_changed(owned_objects: OwnedObjects, other: Api):
    kb_id, doc_id = owned_objects.ids["kb_id"], owned_objects.ids["doc_id"]
    path = f"/knowledge-bases/{kb_id}"
    owned_objects.owner.put(path, {"is_public": True})
    try:
        before = owned_objects.state()
        assert other.get(path)["can_write"] is False
        assert other.document(kb_id, doc_id)["status"] == "completed"
        assert other.search(kb_id, "zebra")[0]["document_id"] == doc_id
        body = {"query": "zebra", "knowledge_base_ids": [kb_id, other.create_kb()]}
        assert other.post("/search", body)["results"]
        writes = [
            ("PUT", path, {"json": {"name": "mine now"}}),
            ("PUT", path, {"json": {"is_public": False}}),
            ("DELETE", path, {}),
            ("POST", f"{path}/documents", FILE),
            ("DELETE", f"{path}/documents/{doc_id}", {}),
            ("POST", f"{path}/documents/{doc_id}/retry", {}),
        ]
        for method, url, options in writes:
            other.refused(ReadOnly, method, url, **options)
        assert owned_objects.state() == before
    finally:
        owned_objects.owner.put(path, {"is_public": False})
    other.refused(KnowledgeBaseNotFound, "GET", path)


def test_administrator_does_not_look_into_other_peoples_things(server: Server, shared_objects: OwnedObjects):
    admin = server.admin()
    path = f"/knowledge-bases/{shared_objects.ids['kb_id']}"
    for method, url in (("GET", path), ("DELETE", path), ("GET", f"{path}/documents")):
        admin.refused(KnowledgeBaseNotFound, method, url)
    session = f"/sessions/{shared_objects.ids['session_id']}"
    admin.refused(SessionNotFound, "GET", session)
    memory = f"/memories/{shared_objects.ids['memory_id']}"
    for method in ("GET", "DELETE"):
        admin.refused(MemoryNotFound, method, memory)


def test_role_without_the_permission_may_look_but_not_write(server: Server, owned_objects: OwnedObjects):
    viewer = server.sql("SELECT id FROM role WHERE name = 'viewer'")[0]["id"]
    kb_id, caller = owned_objects.ids["kb_id"], owned_objects.owner
    server.sql('UPDATE "user" SET role_id = :role WHERE id = :id', role=viewer, id=caller.user_id)
    path = f"/knowledge-bases/{kb_id}"
    assert caller.get(path)["id"] == kb_id
    assert caller.search(kb_id, "zebra")
    for method, url, options in (
        ("POST", "/knowledge-bases", {"json": {"name": "x"}}),
        ("PUT", path, {"json": {"name": "x"}}),
        ("DELETE", path, {}),
        ("POST", f"{path}/documents", FILE),
        ("DELETE", f"{path}/documents/{owned_objects.ids['doc_id']}", {}),
    ):
        details = caller.refused(PermissionDenied, method, url, **options)
        assert details == {"permission": "kb:write"}


def test_everything_a_new_person_sees_is_empty(user: Api):
    for path in ("/knowledge-bases", "/sessions"):
        items = user.get(path)["items"]
        assert [item for item in items if item.get("owner_id") == user.user_id] == []
    assert user.get("/sessions")["total"] == 0
    assert user.get("/memories")["total"] == 0
