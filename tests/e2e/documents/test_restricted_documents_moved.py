"""Documents that not all read, where things move: uploads, questions, chats, exports, copies."""

import io
import json
import zipfile
from typing import Any

import pytest

from core.errors.auth import ChunkNotFound, DocumentNotFound, EvaluationNotFound, QuestionNotFound
from core.errors.conflicts import DocumentNameTaken
from tests.e2e.knowledge_bases.test_transfers import export, send, wait
from tests.e2e.search.test_recorded_retrievals import retrieval_of
from tests.e2e.tools.test_agent_tools import told
from tests.fixtures.http.client import Api, check_success
from tests.fixtures.knowledge.restricted_document import NAME, SECRET, Narrowed, narrowed
from tests.fixtures.product.server import Server
from tests.fixtures.runs.agent_runs import ask

QUESTION = "When does the okapi sleep?"
ASKED = {"question": QUESTION, "expected": [{"document": NAME, "text": "sleeps at midnight"}]}
HARMLESS = {"question": "When does the zebra sleep?", "expected": [{"document": "open.md"}]}


@pytest.fixture
def zoo(server: Server, user: Api, other: Api) -> Narrowed:
    return narrowed(user, other, server.person())


@pytest.fixture
def workshop(server: Server, user: Api, other: Api) -> Narrowed:
    return narrowed(user, other, server.person(), "write")


def titles(caller: Api, kb_id: str) -> list[str]:
    return sorted(one["name"] for one in caller.get(f"/knowledge-bases/{kb_id}/documents")["items"])


def test_hidden_name_and_hidden_bytes_are_free_for_who_does_not_see_them(workshop: Narrowed):
    zoo = workshop
    same_bytes = zoo.left_out.put_file(zoo.kb_id, NAME, SECRET)
    assert (same_bytes["outcome"], same_bytes["name"]) == ("created", NAME)
    assert same_bytes["id"] != zoo.secret_id
    assert zoo.left_out.put_file(zoo.kb_id, NAME, "# Other")["outcome"] == "replaced"
    assert zoo.owner.document(zoo.kb_id, zoo.secret_id)["revision"] == 1
    assert titles(zoo.owner, zoo.kb_id) == ["open.md", NAME, NAME]
    assert titles(zoo.left_out, zoo.kb_id) == ["open.md", NAME]
    # Who sees both must say which one is meant; bytes that are there already say it.
    answer = zoo.owner.send_file(zoo.kb_id, NAME, b"# Third")
    assert answer.json()["code"] == DocumentNameTaken.code
    assert zoo.owner.put_file(zoo.kb_id, NAME, SECRET)["id"] == zoo.secret_id
    # Nor can the restricted one be opened while its name is another's.
    zoo.owner.refused(DocumentNameTaken, "DELETE", f"{zoo.secret}/access")
    renamed = {"name": "a.md"}
    zoo.left_out.put(f"{zoo.path}/documents/{same_bytes['id']}", renamed)
    zoo.left_out.put(f"{zoo.path}/documents/{same_bytes['id']}", {"name": NAME})
    zoo.left_out.put(f"{zoo.path}/documents/{same_bytes['id']}", renamed)
    zoo.owner.delete(f"{zoo.secret}/access")
    assert titles(zoo.left_out, zoo.kb_id) == ["a.md", "open.md", NAME]


def test_new_upload_of_a_restricted_document_stays_restricted(workshop: Narrowed):
    zoo = workshop
    for caller, text in ((zoo.owner, "cave eight"), (zoo.listed, "cave nine")):
        taken = caller.put_file(zoo.kb_id, NAME, f"# Okapi\n\nThe okapi moved to {text}.")
        assert (taken["id"], taken["outcome"]) == (zoo.secret_id, "replaced")
        caller.wait(zoo.kb_id, zoo.secret_id)
        assert len(zoo.left_out.search(zoo.kb_id, f"okapi {text}")) == 1
        zoo.left_out.refused(DocumentNotFound, "GET", zoo.secret)
    assert "nine" in zoo.listed.search(zoo.kb_id, "okapi cave")[0]["content"]


def test_saved_questions_and_measurements_are_of_what_one_reads(workshop: Narrowed):
    zoo = workshop
    path = f"{zoo.path}/questions"
    secret = zoo.owner.post(path, ASKED)["id"]
    zoo.owner.post(path, HARMLESS)
    measured = zoo.owner.post(f"{zoo.path}/evaluations", {})
    assert (measured["metrics"]["recall_10"], measured["settings"]["documents"]) == (1, 2)
    for caller, count in ((zoo.owner, 2), (zoo.listed, 2), (zoo.left_out, 1)):
        assert caller.get(path)["total"] == len(caller.get(path)["items"]) == count
        lines = caller.request("GET", f"{path}/export").text
        assert ("okapi" in lines) is (count == 2)
    zoo.left_out.refused(QuestionNotFound, "GET", f"{path}/{secret}")
    zoo.left_out.refused(QuestionNotFound, "PUT", f"{path}/{secret}", json=HARMLESS)
    zoo.left_out.refused(QuestionNotFound, "DELETE", f"{path}/{secret}")
    # A question of the same words is another one; nothing tells of the first.
    own = {"question": QUESTION, "expected": [{"document": "open.md"}]}
    made = zoo.left_out.post(path, own)
    assert made["expected"] == [{"document": "open.md", "text": ""}]
    assert made["id"] != secret
    mine = zoo.left_out.post(f"{zoo.path}/evaluations", {})
    assert mine["settings"]["documents"] == 1
    assert NAME not in json.dumps(mine)
    assert mine["change"] is None
    ids = [one["id"] for one in zoo.left_out.get(f"{zoo.path}/evaluations")["items"]]
    assert ids == [mine["id"]]
    theirs = f"{zoo.path}/evaluations/{measured['id']}"
    zoo.left_out.refused(EvaluationNotFound, "GET", theirs)
    assert zoo.owner.get(f"{zoo.path}/evaluations")["total"] == 2
    # Neither the hidden name for a document of one's own nor the deletion brings it out.
    zoo.left_out.put_file(zoo.kb_id, NAME, "# Mine")
    zoo.left_out.refused(QuestionNotFound, "GET", f"{path}/{secret}")
    zoo.owner.delete(zoo.secret)
    assert "midnight" not in zoo.left_out.request("GET", f"{path}/export").text
    files = {"file": ("q.jsonl", b'{"question": "stripes?", "document": "open.md"}\n')}
    answer = zoo.left_out.request("POST", f"{path}/import", files=files, params={"replace": True})
    assert check_success(answer)["added"] == 1
    texts = {one["question"] for one in zoo.owner.get(path)["items"]}
    assert texts == {QUESTION, "stripes?"}


def test_question_goes_with_a_document_that_is_renamed_and_then_restricted(zoo: Narrowed):
    path = f"{zoo.path}/questions"
    zoo.owner.post(path, HARMLESS)
    zoo.owner.post(path, ASKED)
    zoo.owner.put(f"{zoo.path}/documents/{zoo.open_id}", {"name": "savanna.md"})
    zoo.owner.put(zoo.secret, {"name": "cave.md"})
    named = {one["expected"][0]["document"] for one in zoo.owner.get(path)["items"]}
    assert named == {"savanna.md", "cave.md"}
    assert zoo.left_out.get(path)["items"][0]["expected"][0]["document"] == "savanna.md"
    zoo.owner.put(f"{zoo.path}/documents/{zoo.open_id}/access", {"readers": []})
    assert zoo.left_out.get(path)["items"] == []
    assert zoo.left_out.request("GET", f"{path}/export").text == ""
    assert [one["question"] for one in zoo.listed.get(path)["items"]] == [QUESTION]


def test_question_of_one_of_two_documents_of_a_name_stays_for_who_reads_both(workshop: Narrowed):
    zoo = workshop
    path = f"{zoo.path}/questions"
    twin = zoo.left_out.put_file(zoo.kb_id, NAME, "# Lynx\n\nThe lynx sleeps at dawn.")["id"]
    own = {"question": "And the lynx?", "expected": [{"document": NAME, "text": "at dawn"}]}
    zoo.left_out.post(path, own)
    # Who reads both may mean either.
    zoo.owner.post(path, ASKED)
    zoo.owner.put(f"{zoo.path}/documents/{twin}", {"name": "lynx.md"})
    documents = {one["question"]: one["expected"][0]["document"] for one in zoo.owner.get(path)["items"]}
    assert documents == {own["question"]: "lynx.md", QUESTION: NAME}
    assert len(zoo.listed.get(path)["items"]) == 2
    zoo.owner.put(f"{zoo.path}/documents/{twin}/access", {"readers": []})
    assert zoo.listed.get(path)["items"] == zoo.left_out.get(path)["items"] == []


@pytest.mark.parametrize("way", ["export", "copy"])
def test_questions_travel_for_those_who_may_know_them(workshop: Narrowed, way: str):
    zoo = workshop
    gone = zoo.owner.put_file(zoo.kb_id, "gone.md", "# Dodo\n\nThe dodo slept on an island.")["id"]
    zoo.owner.wait(zoo.kb_id, gone)
    zoo.owner.put(f"{zoo.path}/documents/{gone}/access", {"readers": []})
    path = f"{zoo.path}/questions"
    dodo = {"question": "And the dodo?", "expected": [{"document": "gone.md"}]}
    same_words = {"question": QUESTION, "expected": [{"document": "open.md"}]}
    for caller, body in ((zoo.owner, ASKED), (zoo.owner, dodo), (zoo.left_out, same_words)):
        caller.post(path, body)
    zoo.owner.delete(f"{zoo.path}/documents/{gone}")
    if way == "export":
        sent = check_success(send(zoo.owner, export(zoo.owner, zoo.kb_id), name="Arrived"))
    else:
        sent = zoo.owner.post(f"{zoo.path}/copy", {})
    kb_id = wait(zoo.owner, sent)["knowledge_base_id"]
    zoo.owner.put(f"/knowledge-bases/{kb_id}/shares", {"shares": [{"username": zoo.left_out.name}]})
    arrived = {
        caller: {
            (one["question"], one["expected"][0]["document"])
            for one in caller.get(f"/knowledge-bases/{kb_id}/questions")["items"]
        }
        for caller in (zoo.owner, zoo.left_out)
    }
    assert arrived[zoo.left_out] == {(QUESTION, "open.md")}
    # A file can not say that a document is gone: only with it is told for whom its words are.
    missing = {(dodo["question"], "gone.md")} if way == "export" else set[tuple[str, str]]()
    every = {(QUESTION, "open.md"), (QUESTION, NAME), (dodo["question"], "gone.md")}
    assert arrived[zoo.owner] == every - missing


def test_agents_find_and_read_what_their_person_reads(zoo: Narrowed):
    for caller, sees in ((zoo.owner, True), (zoo.listed, True), (zoo.left_out, False)):
        events = ask(caller, QUESTION, forwarded_props={"knowledge_base_ids": [zoo.kb_id]})
        assert ("midnight" in json.dumps(events)) is sees
        for named in (NAME, zoo.secret_id):
            command = f'/tool read_document {{"document": "{named}"}}'
            result, _ = told(caller, command, zoo.kb_id)
            assert ("midnight" in result) is sees
            if not sees:
                assert result == "The tool read_document failed: Document not found."


def test_answers_stay_when_access_goes_and_their_sources_open_no_more(zoo: Narrowed):
    caller = zoo.listed
    session = caller.post("/sessions", {"title": "mine"})["id"]
    props = {"knowledge_base_ids": [zoo.kb_id]}
    events = ask(caller, QUESTION, thread_id=session, forwarded_props=props)
    path = f"/retrievals/{retrieval_of(events)}"
    (cited,) = {one["chunk_id"] for one in user_citations(events) if one["document_id"] == zoo.secret_id}
    assert caller.get(f"{zoo.path}/chunks/{cited}")["content"]
    zoo.restrict()
    # What was told was told: it is the asker's conversation.
    assert "midnight" in json.dumps(caller.get(f"/sessions/{session}/messages"))
    assert "midnight" in caller.request("GET", f"/sessions/{session}/export").text
    caller.refused(ChunkNotFound, "GET", f"{zoo.path}/chunks/{cited}")
    caller.refused(DocumentNotFound, "GET", f"{zoo.secret}/content")
    replay = caller.post(f"{path}/replay")
    gone = [one for one in replay["changes"] if one["document_id"] == zoo.secret_id]
    assert {(one["status"], one["reason"]["code"]) for one in gone} == {("gone", "gone")}
    assert "midnight" not in json.dumps(replay)
    again = ask(caller, QUESTION, forwarded_props=props)
    assert "midnight" not in json.dumps(again)


def user_citations(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    finished = next(event for event in events if event["type"] == "RUN_FINISHED")
    return finished["result"]["citations"]


def test_export_holds_what_one_reads_and_arrives_restricted(zoo: Narrowed):
    zoo.owner.post(f"{zoo.path}/questions", ASKED)
    for caller, names in (
        (zoo.owner, ["open.md", NAME]),
        (zoo.listed, ["open.md", NAME]),
        (zoo.left_out, ["open.md"]),
    ):
        content = export(caller, zoo.kb_id)
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            inside = b"".join(file.read(name) for name in file.namelist())
        assert (b"midnight" in inside) is (NAME in names)
        assert zoo.listed.name.encode() not in inside
        arrived = wait(caller, check_success(send(caller, content, name=f"Of {caller.name}")))
        assert (arrived["status"], arrived["facts"]["documents"]) == ("completed", len(names))
        kb_id = arrived["knowledge_base_id"]
        documents = {one["name"]: one for one in caller.get(f"/knowledge-bases/{kb_id}/documents")["items"]}
        assert [*sorted(documents)] == names
        if NAME not in documents:
            continue
        access = f"/knowledge-bases/{kb_id}/documents/{documents[NAME]['id']}/access"
        readers = caller.get(access)
        assert (readers["restricted"], readers["items"]) == (True, [])
        shares = {"shares": [{"username": zoo.left_out.name}]}
        caller.put(f"/knowledge-bases/{kb_id}/shares", shares)
        assert titles(zoo.left_out, kb_id) == ["open.md"]
        assert len(zoo.left_out.search(kb_id, "okapi midnight")) == 1


def test_copy_holds_what_one_reads_with_its_restrictions(zoo: Narrowed):
    for caller, names, readers in (
        (zoo.owner, ["open.md", NAME], [zoo.listed.name]),
        (zoo.listed, ["open.md", NAME], []),
        (zoo.left_out, ["open.md"], None),
    ):
        copied = wait(caller, caller.post(f"{zoo.path}/copy", {}))
        assert (copied["status"], copied["facts"]["documents"]) == ("completed", len(names))
        kb_id = copied["knowledge_base_id"]
        assert titles(caller, kb_id) == names
        if readers is None:
            continue
        listing = caller.get(f"/knowledge-bases/{kb_id}/documents")["items"]
        secret = next(one["id"] for one in listing if one["name"] == NAME)
        access = caller.get(f"/knowledge-bases/{kb_id}/documents/{secret}/access")
        assert access["restricted"] is True
        assert [one["user"]["username"] for one in access["items"]] == readers


def test_two_documents_of_a_name_travel_together(workshop: Narrowed):
    zoo = workshop
    twin = zoo.left_out.put_file(zoo.kb_id, NAME, "# Lynx\n\nThe lynx sleeps at dawn.")["id"]
    zoo.left_out.wait(zoo.kb_id, twin)
    content = export(zoo.owner, zoo.kb_id)
    arrived = wait(zoo.owner, check_success(send(zoo.owner, content, name="Twins")))
    assert titles(zoo.owner, arrived["knowledge_base_id"]) == ["open.md", NAME, NAME]
