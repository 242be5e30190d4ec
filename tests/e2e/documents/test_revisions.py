"""A second upload under the name of a document: revisions, over HTTP."""

import hashlib
from concurrent.futures import ThreadPoolExecutor

import pytest

from core.errors.conflicts import DocumentNameTaken
from core.errors.requests import InvalidRequest
from tests.fixtures.http.client import Api, check_error, eventually
from tests.fixtures.product.leftover_data import check_consistent, stored_files
from tests.fixtures.product.server import Server

OLD = "# Opening hours\n\nThe zebra house opens at nine.\n"
NEW = "# Opening hours\n\nThe zebra house opens at eleven.\n"
BROKEN = b"# Opening hours\n\n" + b" " * 10


@pytest.fixture
def kb(user: Api) -> str:
    return user.create_kb()


def list_documents(user: Api, kb: str) -> list[dict]:
    return user.get(f"/knowledge-bases/{kb}/documents", sort_by="name", sort_order="asc")["items"]


def texts(user: Api, kb: str) -> list[str]:
    return [hit["content"] for hit in user.search(kb, "When does the zebra house open?")]


def test_first_upload_says_that_it_was_created(user: Api, kb: str):
    answer = user.put_file(kb, "a.md", OLD)
    assert (answer["outcome"], answer["revision"]) == ("created", 1)


def test_same_bytes_again_change_nothing(user: Api, kb: str, server: Server):
    document_id = user.ingest(kb, "a.md", OLD)
    before, files = user.document(kb, document_id), server.files
    answer = user.put_file(kb, "a.md", OLD)
    assert answer["outcome"] == "unchanged"
    assert {name: answer[name] for name in before} == before
    assert user.document(kb, document_id) == before
    assert server.files <= files


def test_changed_bytes_become_the_next_revision_and_replace_the_passages(user: Api, kb: str, server: Server):
    document_id = user.ingest(kb, "a.md", OLD)
    old_files = stored_files(server, kb)
    answer = user.put_file(kb, "a.md", NEW)
    assert (answer["id"], answer["outcome"], answer["revision"]) == (document_id, "replaced", 2)
    assert answer["status"] == "pending"
    assert answer["sha256"] == hashlib.sha256(NEW.encode()).hexdigest()
    row = user.wait(kb, document_id)
    assert (row["status"], row["revision"]) == ("completed", 2)
    assert "eleven" in " ".join(texts(user, kb))
    assert "nine" not in " ".join(texts(user, kb))
    eventually(lambda: not old_files & server.files, what="the old file goes")
    assert stored_files(server, kb) <= server.files
    check_consistent(server, kb)


def test_old_passages_are_found_until_the_new_ones_are_and_never_both(user: Api, kb: str):
    document_id = user.ingest(kb, "a.md", OLD)
    for number in range(4):
        new = OLD.replace("nine", f"number {number}")
        user.put_file(kb, "a.md", new)

        def flipped() -> bool:
            found = texts(user, kb)
            assert len(found) == 1, found
            return f"number {number}" in found[0]  # noqa: B023 - called within the round

        eventually(flipped, seconds=120, pause=0.01)
    assert user.wait(kb, document_id)["status"] == "completed"


def test_new_revision_that_fails_says_so_and_leaves_the_old_passages(user: Api, kb: str, server: Server):
    document_id = user.ingest(kb, "a.html", f"<p>{OLD}</p>")
    old_files = stored_files(server, kb)
    user.put_file(kb, "a.html", "<html><body><!-- nothing --></body></html>")
    row = user.wait(kb, document_id)
    assert (row["status"], row["failure"]["reason"]) == ("failed", "empty_text")
    assert "nine" in " ".join(texts(user, kb))
    assert old_files <= server.files
    answer = user.put_file(kb, "a.html", f"<p>{NEW}</p>")
    assert answer["outcome"] == "replaced"
    assert user.wait(kb, document_id)["status"] == "completed"
    assert "eleven" in " ".join(texts(user, kb))
    eventually(lambda: not old_files & server.files, what="the old file goes")
    assert len(stored_files(server, kb) & server.files) == 1


def test_same_bytes_start_a_failed_document_anew(user: Api, kb: str, server: Server):
    content = b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog"
    document_id = user.upload(kb, "a.pdf", content)
    assert user.wait(kb, document_id)["status"] == "failed"
    files = stored_files(server, kb)
    answer = user.put_file(kb, "a.pdf", content)
    assert (answer["id"], answer["outcome"], answer["status"]) == (
        document_id,
        "retried",
        "pending",
    )
    assert user.wait(kb, document_id)["status"] == "failed"
    assert not files & server.files
    assert len(stored_files(server, kb) & server.files) == 1


def test_keep_both_numbers_the_name_and_does_so_once(user: Api, kb: str):
    user.put_file(kb, "a.md", OLD)
    second = user.put_file(kb, "a.md", NEW, on_conflict="keep_both")
    assert (second["name"], second["outcome"]) == ("a (2).md", "created")
    again = user.put_file(kb, "a.md", NEW, on_conflict="keep_both")
    assert (again["id"], again["outcome"]) == (second["id"], "unchanged")
    assert [row["name"] for row in list_documents(user, kb)] == ["a (2).md", "a.md"]


def test_refuse_names_the_document_that_is_in_the_way(user: Api, kb: str, server: Server):
    present = user.put_file(kb, "a.md", OLD)
    user.wait(kb, present["id"])
    files = server.files
    path = f"/knowledge-bases/{kb}/documents"
    sent = {"files": {"file": ("a.md", NEW.encode())}, "params": {"on_conflict": "refuse"}}
    details = user.refused(DocumentNameTaken, "POST", path, **sent)
    assert details["document_id"] == present["id"]
    assert server.files <= files
    assert user.put_file(kb, "a.md", OLD, on_conflict="refuse")["outcome"] == "unchanged"


def test_unknown_choice_is_refused_before_the_file_is_stored(user: Api, kb: str, server: Server):
    files = server.files
    details = check_error(user.send_file(kb, "a.md", OLD.encode(), on_conflict="merge"), InvalidRequest)
    assert details["field"] == "on_conflict"
    assert list_documents(user, kb) == []
    assert server.files <= files


def test_same_file_sent_many_times_at_once_makes_one_document(user: Api, kb: str, server: Server):
    with ThreadPoolExecutor(10) as pool:
        tasks = [pool.submit(user.put_file, kb, "same.md", OLD) for _ in range(20)]
        answers = [task.result() for task in tasks]
    assert len({answer["id"] for answer in answers}) == 1
    assert sorted(answer["outcome"] for answer in answers) == ["created"] + ["unchanged"] * 19
    row = user.wait(kb, answers[0]["id"])
    assert (row["status"], row["revision"]) == ("completed", 1)
    assert len(list_documents(user, kb)) == 1
    assert len(stored_files(server, kb) & server.files) == 1
    check_consistent(server, kb)


def test_different_files_of_one_name_at_once_end_as_one_of_them(user: Api, kb: str, server: Server):
    contents = [OLD.replace("nine", f"{number} o'clock") for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda text: user.put_file(kb, "same.md", text), contents))
    assert len({answer["id"] for answer in answers}) == 1
    assert sorted(answer["revision"] for answer in answers) == list(range(1, 9))
    row = user.wait(kb, answers[0]["id"])
    assert (row["status"], row["revision"]) == ("completed", 8)
    assert row["sha256"] in {hashlib.sha256(text.encode()).hexdigest() for text in contents}
    assert len(texts(user, kb)) == 1
    eventually(lambda: server.points(kb_id=kb) == 1, what="old points go")
    check_consistent(server, kb)


def test_name_of_a_deleted_document_is_free(user: Api, kb: str):
    first = user.ingest(kb, "a.md", OLD)
    user.delete(f"/knowledge-bases/{kb}/documents/{first}")
    answer = user.put_file(kb, "a.md", OLD)
    assert answer["outcome"] == "created"
    assert answer["id"] != first
    assert user.wait(kb, answer["id"])["status"] == "completed"
