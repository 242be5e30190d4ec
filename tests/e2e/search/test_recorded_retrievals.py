"""Recorded retrievals: the searches of a run, named and replayed."""

import json

import pytest

from core.errors.auth import RetrievalNotFound
from tests.fixtures.http.client import Api
from tests.fixtures.runs.agent_runs import GUIDE, MANUAL, ask, run, run_body

QUESTION = "Which port does the relay server listen on?"


@pytest.fixture
def guide(user: Api) -> str:
    kb_id = user.create_kb(retrieval={"top_k": 4, "neighbours": 1})
    user.ingest(kb_id, "relay.md", GUIDE)
    user.ingest(kb_id, "中继.md", MANUAL)
    return kb_id


def chat(user: Api, guide: str) -> list[dict]:
    return ask(user, QUESTION, forwarded_props={"knowledge_base_ids": [guide]})


def retrieval_of(events: list[dict]) -> str:
    result = next(event for event in events if event["type"] == "TOOL_CALL_RESULT")
    return json.loads(result["content"])["retrieval_id"]


def passage_keys(results: list[dict]) -> list[tuple]:
    keys = ("chunk_id", "document_id", "document_name", "knowledge_base_id", "revision")
    return [(*(hit[key] for key in keys), round(hit["score"], 4)) for hit in results]


def test_chats_retrieval_is_the_test_pages_answer_to_the_recorded_request(user: Api, guide: str):
    events = chat(user, guide)
    recorded = user.get(f"/retrievals/{retrieval_of(events)}")
    assert recorded["request"]["top_k"] == 4, "the knowledge base's own"
    page = user.post("/search", recorded["request"])
    assert len(recorded["results"]) > 1
    assert passage_keys(recorded["results"]) == passage_keys(page["results"])
    assert page["request"] == recorded["request"]
    single = {"query": recorded["request"]["query"]}
    plain = user.post(f"/knowledge-bases/{guide}/search", single)
    assert passage_keys(plain["results"]) == passage_keys(page["results"]), "with the defaults of both"
    tool = next(event for event in events if event["type"] == "TOOL_CALL_RESULT")
    texts = [passage["text"] for passage in json.loads(tool["content"])["passages"]]
    assert texts == [hit["content"] for hit in page["results"]]


def test_citations_name_the_retrieval_they_come_from(user: Api, guide: str):
    events = chat(user, guide)
    finished = next(event for event in events if event["type"] == "RUN_FINISHED")
    citations = finished["result"]["citations"]
    assert {citation["retrieval_id"] for citation in citations} == {retrieval_of(events)}


def test_replay_is_the_same_until_the_documents_change(user: Api, guide: str):
    path = f"/retrievals/{retrieval_of(chat(user, guide))}"
    first = user.post(f"{path}/replay")
    assert (first["same"], {one["status"] for one in first["changes"]}) == (True, {"same"})
    documents = {hit["document_name"]: hit["document_id"] for hit in first["now"]["results"]}
    user.delete(f"/knowledge-bases/{guide}/documents/{documents['relay.md']}")
    user.ingest(guide, "new.md", "# Relay server\n\nThe relay server listens on port 9090 now.\n")
    user.put(f"/knowledge-bases/{guide}", {"retrieval": {"top_k": 1}})
    again = user.post(f"{path}/replay")
    assert again["same"] is False
    assert again["now"]["request"] == again["retrieval"]["request"] == first["now"]["request"]
    by_name = {one["document_name"]: one for one in again["changes"]}
    assert (by_name["relay.md"]["status"], by_name["new.md"]["status"]) == ("gone", "new")
    assert by_name["relay.md"]["reason"]["code"] == "gone"
    assert by_name["new.md"]["place_now"] == 1
    assert by_name["relay.md"]["place_then"] == 1


def test_replay_without_the_knowledge_base_says_so(user: Api, guide: str):
    path = f"/retrievals/{retrieval_of(chat(user, guide))}"
    user.delete(f"/knowledge-bases/{guide}")
    replay = user.post(f"{path}/replay")
    assert replay["missing_knowledge_base_ids"] == [guide]
    assert replay["now"]["results"] == []
    assert {one["status"] for one in replay["changes"]} == {"gone"}
    assert [one["code"] for one in replay["now"]["warnings"]] == ["knowledge_base_missing"]


def test_retrieval_is_its_owners_alone_and_goes_with_the_session(user: Api, other: Api, guide: str):
    body = run_body(QUESTION, forwarded_props={"knowledge_base_ids": [guide]})
    path = f"/retrievals/{retrieval_of(run(user, body))}"
    for method, where in (("GET", path), ("POST", f"{path}/replay")):
        other.refused(RetrievalNotFound, method, where)
    user.refused(RetrievalNotFound, "GET", "/retrievals/nowhere")
    user.delete(f"/sessions/{body['thread_id']}")
    user.refused(RetrievalNotFound, "GET", path)
