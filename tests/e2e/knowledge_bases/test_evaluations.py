"""Saved questions and evaluations over HTTP."""

import json
from typing import Any

import pytest

from core.errors.auth import EvaluationNotFound, KnowledgeBaseNotFound, QuestionNotFound, ReadOnly
from core.errors.conflicts import NoQuestions
from core.errors.requests import InvalidRequest
from kb_service.embeddings.catalog import DEFAULT, MULTILINGUAL_E5
from kb_service.evaluation.store import MAX_EVALUATIONS
from kb_service.questions import MAX_QUESTIONS
from tests.fixtures.http.client import Api, check_success, eventually
from tests.fixtures.http.multipart import connection, head
from tests.fixtures.product.server import Server, one_shape

TEXTS = {
    "warranty.md": "# Warranty\n\nThe warranty of the pump lasts twenty-four months.",
    "filter.md": "# Filters\n\nChange the filter of the pump every three months.",
    "保修.md": "# 保修\n\n水泵的保修期是二十四个月。",
}
QUESTIONS = [
    {
        "question": "How long is the warranty?",
        "expected": [{"document": "warranty.md", "text": "lasts twenty-four months"}],
    },
    {"question": "When is the filter changed?", "expected": [{"document": "filter.md"}]},
    {
        "question": "水泵保修多久？",
        "expected": [{"document": "保修.md", "text": "保修期是二十四个月"}],
    },
]


def path(kb_id: str, *parts: str) -> str:
    return "/".join((f"/knowledge-bases/{kb_id}", *parts))


def save(user: Api, kb_id: str, questions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [user.post(path(kb_id, "questions"), question) for question in questions]


def send(user: Api, kb_id: str, name: str, content: str, **params: Any) -> Any:
    return user.request(
        "POST",
        path(kb_id, "questions", "import"),
        files={"file": (name, content.encode(), "text/plain")},
        params=params,
    )


@pytest.fixture
def kb(user: Api) -> str:
    """A knowledge base in both languages with saved questions."""
    kb_id = user.create_kb()
    for name, text in TEXTS.items():
        user.ingest(kb_id, name, text)
    save(user, kb_id, QUESTIONS)
    return kb_id


def test_right_passages_on_top_give_full_marks(user: Api, kb: str):
    measured = user.post(path(kb, "evaluations"))
    figures = measured["metrics"]
    assert [figures[name] for name in ("recall_1", "recall_5", "mrr_10", "ndcg_10")] == [1] * 4
    assert 0 < figures["p50_ms"] <= figures["p95_ms"]
    assert [result["rank"] for result in measured["results"]] == [1, 1, 1]
    first = measured["results"][0]
    assert first["question"] == "How long is the warranty?"
    assert first["top"][0]["document"] == "warranty.md"
    assert [passage["is_right"] for passage in first["top"]] == [True, False, False]
    assert measured["settings"]["embedding_model"] == DEFAULT.name
    assert (measured["settings"]["documents"], measured["settings"]["chunks"]) == (3, 3)
    assert measured["change"] is None
    assert user.get(path(kb, "evaluations", measured["id"])) == measured


@one_shape
def test_options_are_tried_and_not_kept(user: Api, kb: str):
    before = user.get(path(kb))
    tried = user.post(path(kb, "evaluations"), {"options": {"rerank": False, "top_k": 1}})
    assert tried["settings"]["retrieval"] == {"rerank": False, "top_k": 1}
    # Ten are looked at whatever is shown to people; an English encoder can't read the last question.
    assert [len(result["top"]) for result in tried["results"]] == [3, 3, 3 if DEFAULT is MULTILINGUAL_E5 else 1]
    assert user.get(path(kb)) == before
    for wrong in ({"no_such_option": 1}, {"top_k": 0}):
        body = {"options": wrong}
        user.refused(InvalidRequest, "POST", path(kb, "evaluations"), json=body)
    assert user.get(path(kb, "evaluations"))["total"] == 1


def test_a_passage_that_is_gone_is_flagged(user: Api, kb: str):
    before = user.post(path(kb, "evaluations"))
    documents = user.get(path(kb, "documents"))["items"]
    (gone,) = [row["id"] for row in documents if row["name"] == "filter.md"]
    user.delete(path(kb, "documents", gone))
    after = user.post(path(kb, "evaluations"))
    assert after["metrics"]["recall_10"] == pytest.approx(2 / 3)
    assert after["change"]["evaluation_id"] == before["id"]
    assert after["change"]["same_questions"] is True
    assert after["change"]["figures"]["recall_10"] == pytest.approx(-1 / 3, abs=1e-5)
    compared = user.get(path(kb, "evaluations", after["id"], "compare"), **{"with": before["id"]})
    (worse,) = compared["worse"]
    assert (worse["question"], worse["rank"], worse["rank_before"]) == (
        "When is the filter changed?",
        None,
        1,
    )
    assert (compared["better"], compared["unchanged"]) == ([], 2)
    assert compared["change"]["recall_1"] == pytest.approx(-1 / 3, abs=1e-5)
    back = user.get(path(kb, "evaluations", before["id"], "compare"), **{"with": after["id"]})
    assert [one["rank"] for one in back["better"]] == [1]


def test_list_shows_each_with_its_change_newest_first(user: Api, kb: str):
    ids = [user.post(path(kb, "evaluations"))["id"] for _ in range(3)]
    listed = user.get(path(kb, "evaluations"), page_size=2)
    assert listed["total"] == 3
    assert [row["id"] for row in listed["items"]] == [ids[2], ids[1]]
    assert [row["change"]["evaluation_id"] for row in listed["items"]] == [ids[1], ids[0]]
    assert "results" not in listed["items"][0]


def test_only_the_newest_measurements_are_kept(embedded: Server):
    user = embedded.person()
    kb_id = user.create_kb()
    save(user, kb_id, QUESTIONS[:1])
    ids = [user.post(path(kb_id, "evaluations"))["id"] for _ in range(MAX_EVALUATIONS + 1)]
    assert embedded.count("evaluation", knowledge_base_id=kb_id) == MAX_EVALUATIONS
    user.refused(EvaluationNotFound, "GET", path(kb_id, "evaluations", ids[0]))
    assert user.get(path(kb_id, "evaluations", ids[1]))["change"] is None


def test_questions_that_only_one_measurement_asked_are_left_out_of_the_comparison(user: Api, kb: str):
    before = user.post(path(kb, "evaluations"))
    save(user, kb, [{"question": "Who is the king?", "expected": [{"document": "filter.md"}]}])
    rows = user.get(path(kb, "questions"), sort_order="asc")["items"]
    user.delete(path(kb, "questions", rows[0]["id"]))
    after = user.post(path(kb, "evaluations"))
    assert after["change"]["same_questions"] is False
    compared = user.get(path(kb, "evaluations", after["id"], "compare"), **{"with": before["id"]})
    assert (compared["only_before"], compared["only_after"], compared["unchanged"]) == (1, 1, 2)
    assert compared["change"]["recall_10"] == 0


def test_measurement_without_questions_is_refused(user: Api):
    details = user.refused(NoQuestions, "POST", path(user.create_kb(), "evaluations"))
    assert "--questions FILE" in details["next_action"]
    assert "--questions FILE" in details["next_action_zh"]


@one_shape
def test_progress_is_streamed_until_the_result(user: Api, kb: str):
    headers = {"Accept": "text/event-stream"}
    response = user.request("POST", path(kb, "evaluations"), headers=headers)
    assert response.headers["content-type"].startswith("text/event-stream")
    assert response.headers["x-accel-buffering"] == "no"
    frames = [frame.split("\n") for frame in response.text.strip().split("\n\n")]
    names = [frame[0].removeprefix("event: ") for frame in frames]
    values = [json.loads(frame[1].removeprefix("data: ")) for frame in frames]
    assert names[0] == "progress"
    assert values[0] == {"done": 1, "total": 3}
    assert names[-1] == "result"
    assert user.get(path(kb, "evaluations", values[-1]["id"])) == values[-1]


def test_who_leaves_cancels_the_measurement(embedded: Server):
    user = embedded.person()
    kb_id = user.create_kb()
    user.ingest(kb_id, "a.md", TEXTS["filter.md"])
    lines = [json.dumps({"question": f"Filter {n}?", "document": "a.md"}) for n in range(300)]
    assert check_success(send(user, kb_id, "q.jsonl", "\n".join(lines)))["added"] == 300
    for headers in ({"Accept": "text/event-stream"}, {}):
        wanted = {"Host": "x", "Content-Length": "0", **user.headers, **headers}
        with connection(embedded) as link:
            link.sendall(head("POST", f"/api/v1{path(kb_id, 'evaluations')}", wanted))
            if headers:
                assert b"200 OK" in link.recv(100)
    # Those that were given up began before this one, and would be there when it is.
    kept = user.post(path(kb_id, "evaluations"))
    assert [row["id"] for row in user.get(path(kb_id, "evaluations"))["items"]] == [kept["id"]]


def test_question_is_read_changed_and_deleted(user: Api):
    kb_id = user.create_kb()
    (row,) = save(user, kb_id, [QUESTIONS[0]])
    assert user.get(path(kb_id, "questions", row["id"])) == row
    changed = user.put(path(kb_id, "questions", row["id"]), QUESTIONS[1])
    assert changed["question"] == QUESTIONS[1]["question"]
    assert changed["expected"] == [{"document": "filter.md", "text": ""}]
    user.delete(path(kb_id, "questions", row["id"]))
    user.refused(QuestionNotFound, "GET", path(kb_id, "questions", row["id"]))
    assert user.get(path(kb_id, "questions"))["total"] == 0


def test_same_question_again_gets_the_new_passages(user: Api):
    kb_id = user.create_kb()
    (first,) = save(user, kb_id, [{"question": "Who?", "expected": [{"document": "a.md"}]}])
    (second,) = save(user, kb_id, [{"question": " Who? ", "expected": [{"document": "b.md"}]}])
    assert second["id"] == first["id"]
    assert [one["document"] for one in second["expected"]] == ["a.md", "b.md"]
    (other,) = save(user, kb_id, [{"question": "Why?", "expected": [{"document": "a.md"}]}])
    body = {"question": "Who?", "expected": [{"document": "a.md"}]}
    user.refused(InvalidRequest, "PUT", path(kb_id, "questions", other["id"]), json=body)


@one_shape
@pytest.mark.parametrize(
    "body",
    [
        {"question": "", "expected": [{"document": "a"}]},
        {"question": "x" * 1001, "expected": [{"document": "a"}]},
        {"question": "a", "expected": []},
        {"question": "a", "expected": [{"document": ""}]},
        {"question": "a", "expected": [{"document": "a", "text": "！？"}]},
        {"question": "a", "expected": [{"document": f"{n}"} for n in range(21)]},
        {"question": "a", "expected": [{"document": "a", "other": "b"}]},
        {"question": "a", "expected": [{"document": "a"}], "knowledge_base_id": "b"},
    ],
)
def test_question_that_cannot_be_used_is_refused(someone: Api, server: Server, body: Any):
    kb_id = someone.create_kb()
    someone.refused(InvalidRequest, "POST", path(kb_id, "questions"), json=body)
    assert server.count("question", knowledge_base_id=kb_id) == 0


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_export_can_be_imported_elsewhere(user: Api, kind: str):
    source, target = user.create_kb(), user.create_kb()
    save(user, source, QUESTIONS)
    file = user.request("GET", path(source, "questions", "export"), params={"format": kind})
    assert file.headers["content-disposition"].endswith(f'"questions.{kind}"')
    added = check_success(send(user, target, f"questions.{kind}", file.text))
    assert added == {"added": 3, "extended": 0, "unchanged": 0}
    again = check_success(send(user, target, f"questions.{kind}", file.text))
    assert again == {"added": 0, "extended": 0, "unchanged": 3}
    copy = user.request("GET", path(target, "questions", "export"), params={"format": kind})
    assert copy.content == file.content


def test_file_with_one_bad_line_changes_nothing(user: Api):
    kb_id = user.create_kb()
    save(user, kb_id, QUESTIONS)
    lines = '{"question": "a", "document": "b"}\n{"question": "c"}'
    response = send(user, kb_id, "q.jsonl", lines, replace=True)
    assert "Line 2" in response.json()["details"]["error"]
    assert user.get(path(kb_id, "questions"))["total"] == 3


def test_too_many_questions_are_refused_whole(user: Api):
    kb_id = user.create_kb()
    save(user, kb_id, QUESTIONS[:1])
    lines = [json.dumps({"question": f"q {n}", "document": "a"}) for n in range(MAX_QUESTIONS)]
    assert send(user, kb_id, "q.jsonl", "\n".join(lines)).status_code == 400
    assert user.get(path(kb_id, "questions"))["total"] == 1
    added = check_success(send(user, kb_id, "q.jsonl", "\n".join(lines), replace=True))
    assert added["added"] == MAX_QUESTIONS


def test_others_see_nothing_of_a_private_knowledge_base(user: Api, other: Api):
    kb_id = user.create_kb()
    (question,) = save(user, kb_id, QUESTIONS[:1])
    measured = user.post(path(kb_id, "evaluations"))
    routes = [
        ("GET", path(kb_id, "questions")),
        ("POST", path(kb_id, "evaluations")),
        ("GET", path(kb_id, "questions", "export")),
        ("GET", path(kb_id, "questions", question["id"])),
        ("DELETE", path(kb_id, "questions", question["id"])),
        ("GET", path(kb_id, "evaluations")),
        ("GET", path(kb_id, "evaluations", measured["id"])),
        ("DELETE", path(kb_id, "evaluations", measured["id"])),
    ]
    for method, route in routes:
        other.refused(KnowledgeBaseNotFound, method, route)
    mine = other.create_kb()
    for part, code in (
        (f"questions/{question['id']}", QuestionNotFound),
        (f"evaluations/{measured['id']}", EvaluationNotFound),
    ):
        other.refused(code, "GET", path(mine, part))
        other.refused(code, "DELETE", path(mine, part))


def test_readers_of_a_public_knowledge_base_read_and_change_nothing(user: Api, other: Api):
    kb_id = user.create_kb(is_public=True)
    (question,) = save(user, kb_id, QUESTIONS[:1])
    assert other.get(path(kb_id, "questions"))["total"] == 1
    other.refused(ReadOnly, "POST", path(kb_id, "questions"), json=QUESTIONS[1])
    other.refused(ReadOnly, "POST", path(kb_id, "evaluations"))
    other.refused(ReadOnly, "DELETE", path(kb_id, "questions", question["id"]))
    assert send(other, kb_id, "q.jsonl", "{}").json()["code"] == ReadOnly.code


def test_questions_and_measurements_go_with_their_knowledge_base(embedded: Server):
    user = embedded.person()
    kb_id = user.create_kb()
    save(user, kb_id, QUESTIONS)
    user.post(path(kb_id, "evaluations"))
    user.delete(path(kb_id))
    for table in ("question", "evaluation"):
        eventually(lambda table=table: embedded.count(table, knowledge_base_id=kb_id) == 0, what=table)
