"""Restricted documents through uploads, questions, chats, exports and copies."""

import io
import json
import zipfile
from typing import Any

import pytest

from core.errors.auth import ChunkNotFound, DocumentNotFound, EvaluationNotFound, QuestionNotFound
from core.errors.conflicts import DocumentNameTaken
from tests.e2e.knowledge_bases.test_transfers import export, send, wait
from tests.e2e.search.test_recorded_retrievals import retrieval_of
from tests.e2e.tools.test_agent_tools import run_tool
from tests.fixtures.http.client import Api, check_success
from tests.fixtures.knowledge.restricted_document import NAME, SECRET, RestrictedKb, make_restricted_kb
from tests.fixtures.product.server import Server
from tests.fixtures.runs.agent_runs import ask

QUESTION = "When does the okapi sleep?"
ASKED = {"question": QUESTION, "expected": [{"document": NAME, "text": "sleeps at midnight"}]}
HARMLESS = {"question": "When does the zebra sleep?", "expected": [{"document": "open.md"}]}


@pytest.fixture
def restricted_kb(server: Server, user: Api, other: Api) -> RestrictedKb:
    return make_restricted_kb(user, other, server.person())


@pytest.fixture
def writable_kb(server: Server, user: Api, other: Api) -> RestrictedKb:
    return make_restricted_kb(user, other, server.person(), "write")


def titles(caller: Api, kb_id: str) -> list[str]:
    return sorted(one["name"] for one in caller.get(f"/knowledge-bases/{kb_id}/documents")["items"])


def test_hidden_name_and_hidden_bytes_are_free_for_who_does_not_see_them(writable_kb: RestrictedKb):
    restricted_kb = writable_kb
    same_bytes = restricted_kb.left_out.put_file(restricted_kb.kb_id, NAME, SECRET)
    assert (same_bytes["outcome"], same_bytes["name"]) == ("created", NAME)
    assert same_bytes["id"] != restricted_kb.secret_id
    assert restricted_kb.left_out.put_file(restricted_kb.kb_id, NAME, "# Other")["outcome"] == "replaced"
    assert restricted_kb.owner.document(restricted_kb.kb_id, restricted_kb.secret_id)["revision"] == 1
    assert titles(restricted_kb.owner, restricted_kb.kb_id) == ["open.md", NAME, NAME]
    assert titles(restricted_kb.left_out, restricted_kb.kb_id) == ["open.md", NAME]
    # Who sees both must say which one is meant; bytes that are there already say it.
    answer = restricted_kb.owner.send_file(restricted_kb.kb_id, NAME, b"# Third")
    assert answer.json()["code"] == DocumentNameTaken.code
    assert restricted_kb.owner.put_file(restricted_kb.kb_id, NAME, SECRET)["id"] == restricted_kb.secret_id
    # Nor can the restricted one be opened while its name is another's.
    restricted_kb.owner.refused(DocumentNameTaken, "DELETE", f"{restricted_kb.secret}/access")
    renamed = {"name": "a.md"}
    restricted_kb.left_out.put(f"{restricted_kb.path}/documents/{same_bytes['id']}", renamed)
    restricted_kb.left_out.put(f"{restricted_kb.path}/documents/{same_bytes['id']}", {"name": NAME})
    restricted_kb.left_out.put(f"{restricted_kb.path}/documents/{same_bytes['id']}", renamed)
    restricted_kb.owner.delete(f"{restricted_kb.secret}/access")
    assert titles(restricted_kb.left_out, restricted_kb.kb_id) == ["a.md", "open.md", NAME]


def test_new_upload_of_a_restricted_document_stays_restricted(writable_kb: RestrictedKb):
    restricted_kb = writable_kb
    for caller, text in ((restricted_kb.owner, "cave eight"), (restricted_kb.listed, "cave nine")):
        taken = caller.put_file(restricted_kb.kb_id, NAME, f"# Okapi\n\nThe okapi moved to {text}.")
        assert (taken["id"], taken["outcome"]) == (restricted_kb.secret_id, "replaced")
        caller.wait(restricted_kb.kb_id, restricted_kb.secret_id)
        assert len(restricted_kb.left_out.search(restricted_kb.kb_id, f"okapi {text}")) == 1
        restricted_kb.left_out.refused(DocumentNotFound, "GET", restricted_kb.secret)
    assert "nine" in restricted_kb.listed.search(restricted_kb.kb_id, "okapi cave")[0]["content"]


def test_saved_questions_and_measurements_are_of_what_one_reads(writable_kb: RestrictedKb):
    restricted_kb = writable_kb
    path = f"{restricted_kb.path}/questions"
    secret = restricted_kb.owner.post(path, ASKED)["id"]
    restricted_kb.owner.post(path, HARMLESS)
    measured = restricted_kb.owner.post(f"{restricted_kb.path}/evaluations", {})
    assert (measured["metrics"]["recall_10"], measured["settings"]["documents"]) == (1, 2)
    for caller, count in ((restricted_kb.owner, 2), (restricted_kb.listed, 2), (restricted_kb.left_out, 1)):
        assert caller.get(path)["total"] == len(caller.get(path)["items"]) == count
        lines = caller.request("GET", f"{path}/export").text
        assert ("okapi" in lines) is (count == 2)
    restricted_kb.left_out.refused(QuestionNotFound, "GET", f"{path}/{secret}")
    restricted_kb.left_out.refused(QuestionNotFound, "PUT", f"{path}/{secret}", json=HARMLESS)
    restricted_kb.left_out.refused(QuestionNotFound, "DELETE", f"{path}/{secret}")
    # A question of the same words is another one; nothing tells of the first.
    own = {"question": QUESTION, "expected": [{"document": "open.md"}]}
    made = restricted_kb.left_out.post(path, own)
    assert made["expected"] == [{"document": "open.md", "text": ""}]
    assert made["id"] != secret
    mine = restricted_kb.left_out.post(f"{restricted_kb.path}/evaluations", {})
    assert mine["settings"]["documents"] == 1
    assert NAME not in json.dumps(mine)
    assert mine["change"] is None
    ids = [one["id"] for one in restricted_kb.left_out.get(f"{restricted_kb.path}/evaluations")["items"]]
    assert ids == [mine["id"]]
    theirs = f"{restricted_kb.path}/evaluations/{measured['id']}"
    restricted_kb.left_out.refused(EvaluationNotFound, "GET", theirs)
    assert restricted_kb.owner.get(f"{restricted_kb.path}/evaluations")["total"] == 2
    # Neither the hidden name for a document of one's own nor the deletion brings it out.
    restricted_kb.left_out.put_file(restricted_kb.kb_id, NAME, "# Mine")
    restricted_kb.left_out.refused(QuestionNotFound, "GET", f"{path}/{secret}")
    restricted_kb.owner.delete(restricted_kb.secret)
    assert "midnight" not in restricted_kb.left_out.request("GET", f"{path}/export").text
    files = {"file": ("q.jsonl", b'{"question": "stripes?", "document": "open.md"}\n')}
    answer = restricted_kb.left_out.request("POST", f"{path}/import", files=files, params={"replace": True})
    assert check_success(answer)["added"] == 1
    texts = {one["question"] for one in restricted_kb.owner.get(path)["items"]}
    assert texts == {QUESTION, "stripes?"}


def test_question_goes_with_a_document_that_is_renamed_and_then_restricted(restricted_kb: RestrictedKb):
    path = f"{restricted_kb.path}/questions"
    restricted_kb.owner.post(path, HARMLESS)
    restricted_kb.owner.post(path, ASKED)
    restricted_kb.owner.put(f"{restricted_kb.path}/documents/{restricted_kb.open_id}", {"name": "savanna.md"})
    restricted_kb.owner.put(restricted_kb.secret, {"name": "cave.md"})
    named = {one["expected"][0]["document"] for one in restricted_kb.owner.get(path)["items"]}
    assert named == {"savanna.md", "cave.md"}
    assert restricted_kb.left_out.get(path)["items"][0]["expected"][0]["document"] == "savanna.md"
    restricted_kb.owner.put(f"{restricted_kb.path}/documents/{restricted_kb.open_id}/access", {"readers": []})
    assert restricted_kb.left_out.get(path)["items"] == []
    assert restricted_kb.left_out.request("GET", f"{path}/export").text == ""
    assert [one["question"] for one in restricted_kb.listed.get(path)["items"]] == [QUESTION]


def test_question_of_one_of_two_documents_of_a_name_stays_for_who_reads_both(writable_kb: RestrictedKb):
    restricted_kb = writable_kb
    path = f"{restricted_kb.path}/questions"
    twin = restricted_kb.left_out.put_file(restricted_kb.kb_id, NAME, "# Lynx\n\nThe lynx sleeps at dawn.")["id"]
    own = {"question": "And the lynx?", "expected": [{"document": NAME, "text": "at dawn"}]}
    restricted_kb.left_out.post(path, own)
    # Who reads both may mean either.
    restricted_kb.owner.post(path, ASKED)
    restricted_kb.owner.put(f"{restricted_kb.path}/documents/{twin}", {"name": "lynx.md"})
    documents = {one["question"]: one["expected"][0]["document"] for one in restricted_kb.owner.get(path)["items"]}
    assert documents == {own["question"]: "lynx.md", QUESTION: NAME}
    assert len(restricted_kb.listed.get(path)["items"]) == 2
    restricted_kb.owner.put(f"{restricted_kb.path}/documents/{twin}/access", {"readers": []})
    assert restricted_kb.listed.get(path)["items"] == restricted_kb.left_out.get(path)["items"] == []


@pytest.mark.parametrize("way", ["export", "copy"])
def test_questions_travel_for_those_who_may_know_them(writable_kb: RestrictedKb, way: str):
    restricted_kb = writable_kb
    gone = restricted_kb.owner.put_file(restricted_kb.kb_id, "gone.md", "# Dodo\n\nThe dodo slept on an island.")["id"]
    restricted_kb.owner.wait(restricted_kb.kb_id, gone)
    restricted_kb.owner.put(f"{restricted_kb.path}/documents/{gone}/access", {"readers": []})
    path = f"{restricted_kb.path}/questions"
    dodo = {"question": "And the dodo?", "expected": [{"document": "gone.md"}]}
    same_words = {"question": QUESTION, "expected": [{"document": "open.md"}]}
    for caller, body in (
        (restricted_kb.owner, ASKED),
        (restricted_kb.owner, dodo),
        (restricted_kb.left_out, same_words),
    ):
        caller.post(path, body)
    restricted_kb.owner.delete(f"{restricted_kb.path}/documents/{gone}")
    if way == "export":
        sent = check_success(
            send(restricted_kb.owner, export(restricted_kb.owner, restricted_kb.kb_id), name="Arrived")
        )
    else:
        sent = restricted_kb.owner.post(f"{restricted_kb.path}/copy", {})
    kb_id = wait(restricted_kb.owner, sent)["knowledge_base_id"]
    restricted_kb.owner.put(f"/knowledge-bases/{kb_id}/shares", {"shares": [{"username": restricted_kb.left_out.name}]})
    arrived = {
        caller: {
            (one["question"], one["expected"][0]["document"])
            for one in caller.get(f"/knowledge-bases/{kb_id}/questions")["items"]
        }
        for caller in (restricted_kb.owner, restricted_kb.left_out)
    }
    assert arrived[restricted_kb.left_out] == {(QUESTION, "open.md")}
    # A file can not say that a document is gone: only with it is told for whom its words are.
    missing = {(dodo["question"], "gone.md")} if way == "export" else set[tuple[str, str]]()
    every = {(QUESTION, "open.md"), (QUESTION, NAME), (dodo["question"], "gone.md")}
    assert arrived[restricted_kb.owner] == every - missing


def test_agents_find_and_read_what_their_person_reads(restricted_kb: RestrictedKb):
    for caller, sees in ((restricted_kb.owner, True), (restricted_kb.listed, True), (restricted_kb.left_out, False)):
        events = ask(caller, QUESTION, forwarded_props={"knowledge_base_ids": [restricted_kb.kb_id]})
        assert ("midnight" in json.dumps(events)) is sees
        for named in (NAME, restricted_kb.secret_id):
            command = f'/tool read_document {{"document": "{named}"}}'
            result, _ = run_tool(caller, command, restricted_kb.kb_id)
            assert ("midnight" in result) is sees
            if not sees:
                assert result == "The tool read_document failed: Document not found."


def test_answers_stay_when_access_goes_and_their_sources_open_no_more(restricted_kb: RestrictedKb):
    caller = restricted_kb.listed
    session = caller.post("/sessions", {"title": "mine"})["id"]
    props = {"knowledge_base_ids": [restricted_kb.kb_id]}
    events = ask(caller, QUESTION, thread_id=session, forwarded_props=props)
    path = f"/retrievals/{retrieval_of(events)}"
    (cited,) = {one["chunk_id"] for one in user_citations(events) if one["document_id"] == restricted_kb.secret_id}
    assert caller.get(f"{restricted_kb.path}/chunks/{cited}")["content"]
    restricted_kb.restrict()
    # What was told was told: it is the asker's conversation.
    assert "midnight" in json.dumps(caller.get(f"/sessions/{session}/messages"))
    assert "midnight" in caller.request("GET", f"/sessions/{session}/export").text
    caller.refused(ChunkNotFound, "GET", f"{restricted_kb.path}/chunks/{cited}")
    caller.refused(DocumentNotFound, "GET", f"{restricted_kb.secret}/content")
    replay = caller.post(f"{path}/replay")
    gone = [one for one in replay["changes"] if one["document_id"] == restricted_kb.secret_id]
    assert {(one["status"], one["reason"]["code"]) for one in gone} == {("gone", "gone")}
    assert "midnight" not in json.dumps(replay)
    again = ask(caller, QUESTION, forwarded_props=props)
    assert "midnight" not in json.dumps(again)


def user_citations(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    finished = next(event for event in events if event["type"] == "RUN_FINISHED")
    return finished["result"]["citations"]


def test_export_holds_what_one_reads_and_arrives_restricted(restricted_kb: RestrictedKb):
    restricted_kb.owner.post(f"{restricted_kb.path}/questions", ASKED)
    for caller, names in (
        (restricted_kb.owner, ["open.md", NAME]),
        (restricted_kb.listed, ["open.md", NAME]),
        (restricted_kb.left_out, ["open.md"]),
    ):
        content = export(caller, restricted_kb.kb_id)
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            inside = b"".join(file.read(name) for name in file.namelist())
        assert (b"midnight" in inside) is (NAME in names)
        assert restricted_kb.listed.name.encode() not in inside
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
        shares = {"shares": [{"username": restricted_kb.left_out.name}]}
        caller.put(f"/knowledge-bases/{kb_id}/shares", shares)
        assert titles(restricted_kb.left_out, kb_id) == ["open.md"]
        assert len(restricted_kb.left_out.search(kb_id, "okapi midnight")) == 1


def test_copy_holds_what_one_reads_with_its_restrictions(restricted_kb: RestrictedKb):
    for caller, names, readers in (
        (restricted_kb.owner, ["open.md", NAME], [restricted_kb.listed.name]),
        (restricted_kb.listed, ["open.md", NAME], []),
        (restricted_kb.left_out, ["open.md"], None),
    ):
        copied = wait(caller, caller.post(f"{restricted_kb.path}/copy", {}))
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


def test_two_documents_of_a_name_travel_together(writable_kb: RestrictedKb):
    restricted_kb = writable_kb
    twin = restricted_kb.left_out.put_file(restricted_kb.kb_id, NAME, "# Lynx\n\nThe lynx sleeps at dawn.")["id"]
    restricted_kb.left_out.wait(restricted_kb.kb_id, twin)
    content = export(restricted_kb.owner, restricted_kb.kb_id)
    arrived = wait(restricted_kb.owner, check_success(send(restricted_kb.owner, content, name="Twins")))
    assert titles(restricted_kb.owner, arrived["knowledge_base_id"]) == ["open.md", NAME, NAME]
