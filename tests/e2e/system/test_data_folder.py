"""Data folders of earlier versions, opened by this one."""

import json
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.fixtures.http.client import Api, unique
from tests.fixtures.paths import DATA
from tests.fixtures.product.server import Server, running_server
from tests.fixtures.runs.agent_runs import ask, camel, run, run_body, text_of

FOLDERS = DATA / "data_folders"


@dataclass
class Opened:
    """The product on an earlier version's data folder.

    Attributes:
        facts: what that version's answers said when the folder was filled.
    """

    server: Server
    facts: dict[str, Any]
    admin: Api

    @property
    def base(self) -> str:
        return f"/knowledge-bases/{self.facts['kb_id']}"


@pytest.fixture(scope="module", params=sorted(path.name for path in FOLDERS.glob("*.tar.gz")))
def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    folder: Path = tmp_path_factory.mktemp("earlier")
    with tarfile.open(FOLDERS / request.param) as archive:
        # Debian's Python 3.11.2 has no filters yet.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(folder)
    facts = json.loads((folder / "facts.json").read_bytes())
    with running_server(folder) as server:
        admin = server.api().log_in("admin", facts["admin_password"])
        yield Opened(server, facts, admin)


def test_accounts_log_in_with_their_passwords_and_see_what_is_shared(opened: Opened):
    person = opened.server.api().log_in(opened.facts["person"], opened.facts["person_password"])
    assert person.user_id == opened.facts["person_id"]
    assert person.get(opened.base)["access"] == "read"
    (hit, *_) = person.search(opened.facts["kb_id"], "trellis from Ulm")
    assert hit["document_id"] == opened.facts["documents"]["notes.txt"]


def test_api_key_signing_keys_and_sealed_secrets_are_those_from_before(opened: Opened):
    holder = opened.server.api(**{"X-API-Key": opened.facts["api_key"]})
    assert holder.get("/users/me")["id"] == opened.admin.user_id
    keys = opened.server.http.get("/.well-known/jwks.json").json()
    assert keys == opened.facts["signing_keys"]
    connection = opened.admin.get(f"/mcp/connections/{opened.facts['mcp_id']}")
    assert (connection["has_secret"], connection["enabled"]) == (True, False)


def test_documents_keep_their_states_and_files(opened: Opened):
    listed = opened.admin.get(f"{opened.base}/documents", page_size=100)["items"]
    states = {row["id"]: row["status"] for row in listed}
    for name, document_id in opened.facts["documents"].items():
        assert states[document_id] == ("failed" if name == "broken.pdf" else "completed")
    path = f"{opened.base}/documents/{opened.facts['documents']['handbook.md']}/content"
    assert opened.admin.request("GET", path).text == opened.facts["handbook"]


def test_passages_are_searched_by_word_and_meaning(opened: Opened):
    questions = {
        "pump in frost": "handbook.md",
        "Where is what opens the seed room kept?": "handbook.md",
        "三号温室的天窗": "温室手册.md",
        "Which heap is ready in spring?": "compost.html",
        "Ildikó": "plants.csv",
    }
    ids = opened.facts["documents"]
    for question, name in questions.items():
        (hit, *_) = opened.admin.search(opened.facts["kb_id"], question)
        assert hit["document_id"] == ids[name], question


def test_edited_passage_is_kept_and_searched(opened: Opened):
    chunk = opened.admin.get(f"{opened.base}/chunks/{opened.facts['edited_chunk_id']}")
    assert (chunk["content"], chunk["version"]) == (opened.facts["edited"], 2)
    (hit, *_) = opened.admin.search(opened.facts["kb_id"], "visitors' path from eight to six")
    assert hit["chunk_id"] == opened.facts["edited_chunk_id"]


def test_questions_and_evaluations_read_back(opened: Opened):
    question = opened.admin.get(f"{opened.base}/questions/{opened.facts['question_id']}")
    assert question["question"] == opened.facts["question"]
    path = f"{opened.base}/evaluations/{opened.facts['evaluation_id']}"
    before = opened.admin.get(path)
    assert before["metrics"]["recall_1"] == 1.0
    again = opened.admin.post(f"{opened.base}/evaluations", {})
    compared = opened.admin.get(f"{path}/compare", **{"with": again["id"]})
    assert str(again["id"]) in str(compared)


def test_skill_reads_back_byte_for_byte(opened: Opened):
    path = f"/skills/{opened.facts['skill_id']}"
    skill = opened.admin.get(path)
    assert (skill["content"], skill["valid"]) == (opened.facts["skill"], True)
    file = opened.admin.request("GET", f"{path}/files/references/frost.md")
    assert file.text == opened.facts["skill_file"]
    assert [row["version"] for row in opened.admin.get(f"{path}/versions")["items"]] == [2, 1]


def test_conversation_and_its_runs_read_back(opened: Opened):
    thread_id, run_id = opened.facts["thread_id"], opened.facts["run_id"]
    messages = opened.admin.get(f"/sessions/{thread_id}/messages")["items"]
    texts = [message["content"] for message in messages]
    assert [opened.facts["question"], opened.facts["answer"]] == texts[:2]
    assert opened.facts["question_zh"] in texts
    (citation, *_) = messages[1]["metadata"]["citations"]
    assert citation["document_name"] == "handbook.md"
    events = opened.admin.request("GET", f"/agent/run/{run_id}/events").text
    assert "RUN_STARTED" in events
    assert "RUN_FINISHED" in events


def test_question_in_the_old_conversation_is_answered_with_a_citation(opened: Opened):
    props = {"knowledge_base_ids": [opened.facts["kb_id"]]}
    thread_id, question = opened.facts["thread_id"], opened.facts["question"]
    events = ask(opened.admin, question, thread_id=thread_id, forwarded_props=props)
    assert "at six in the morning" in text_of(events)
    (citation, *_) = events[-1]["result"]["citations"]
    assert citation["document_id"] == opened.facts["documents"]["handbook.md"]


def test_run_that_waited_for_a_person_goes_on(opened: Opened):
    # An answer may have come too late since; to call it off is never too late.
    refusal = {"interruptId": opened.facts["interrupt"]["id"], "status": "cancelled"}
    body = camel(run_body("", thread_id=opened.facts["waiting_thread_id"]))
    events = run(opened.admin, body | {"messages": [], "resume": [refusal]})
    assert events[-1]["type"] == "RUN_FINISHED"
    assert events[-1].get("outcome", {}).get("type") != "interrupt"


def test_what_else_a_person_has_reads_back(opened: Opened):
    facts, admin = opened.facts, opened.admin
    assert "tomatoes" in admin.get(f"/memories/{facts['memory_id']}")["text"]
    assert admin.get(f"/calendar/events/{facts['event_id']}")["title"] == "Turning the heap"
    policies = admin.get("/users/me/tool-policies")["items"]
    assert [row["policy"] for row in policies if row["tool"] == "save_memory"] == ["ask"]
    config = {row["key"]: row["value"] for row in admin.get("/admin/system/config")["items"]}
    assert config["search_top_k"] == 6
    assert admin.get(f"/admin/roles/{facts['role_id']}")["name"] == "gardener"
    assert admin.get(f"/admin/models/{facts['model_id']}")["model_id"] == "old-model"
    actions = {row["action"] for row in admin.get("/system/audit", page_size=100)["items"]}
    assert "role.created" in actions
    feed = opened.server.http.get(facts["feed"]["url"])
    assert feed.status_code == httpx.codes.OK, feed.text
    assert "Turning the heap" in feed.text


def test_upload_is_ingested_beside_the_old_documents(opened: Opened):
    name, word = f"{unique('new')}.md", uuid4().hex
    kb_id = opened.facts["kb_id"]
    document_id = opened.admin.ingest(kb_id, name, f"# Fig\n\nThe fig tree's number is {word}.\n")
    (hit, *_) = opened.admin.search(kb_id, word)
    assert hit["document_id"] == document_id
