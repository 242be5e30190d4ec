"""Passages of documents over HTTP: listed, read, edited, switched off."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from core.errors.auth import ChunkNotFound, DocumentNotFound, ReadOnly
from core.errors.conflicts import Conflict
from core.errors.requests import InvalidPagination, InvalidRequest
from ingestion.parsers.image.ocr import is_ready
from tests.fixtures.files.sample_files import scanned_pdf
from tests.fixtures.http.client import Api, check_success
from tests.fixtures.product.server import one_shape

ZEBRA = "# Zebra\n\n## Sleep\n\n" + " ".join(f"Zebra {n} sleeps at noon." for n in range(30))
LION = "## Lion\n\n" + "".join(f"狮子第{n}次在夜里捕猎。" for n in range(30))
TEXT = f"{ZEBRA}\n\n{LION}\n"


@pytest.fixture
def kb(user: Api) -> str:
    return user.create_kb(chunk_size=100, chunk_overlap=0)


def chunks(api: Api, kb: str, document_id: str, **params: Any) -> list[dict[str, Any]]:
    path = f"/knowledge-bases/{kb}/documents/{document_id}/chunks"
    return api.get(path, page_size=100, **params)["items"]


def path_of(chunk: dict[str, Any]) -> str:
    return f"/knowledge-bases/{chunk['knowledge_base_id']}/chunks/{chunk['id']}"


def found_ids(api: Api, kb: str, query: str) -> list[str]:
    return [hit["chunk_id"] for hit in api.search(kb, query, top_k=50)]


def test_chunks_are_listed_in_reading_order_with_where_they_stand(user: Api, kb: str):
    document_id = user.ingest(kb, "animals.md", TEXT)
    listed = chunks(user, kb, document_id)
    assert len(listed) == user.document(kb, document_id)["chunk_count"] > 3
    assert [chunk["position"] for chunk in listed] == list(range(len(listed)))
    assert listed[0]["heading_path"] == ["Zebra", "Sleep"]
    assert listed[-1]["heading_path"] == ["Zebra", "Lion"]
    for chunk in listed:
        assert chunk["char_end"] - chunk["char_start"] == len(chunk["content"])
        assert 0 < chunk["token_count"] <= 100
        assert (chunk["enabled"], chunk["version"], chunk["edited"]) == (True, 1, False)
        assert user.get(path_of(chunk)) == chunk
    path = f"/knowledge-bases/{kb}/documents/{document_id}/chunks"
    second = user.get(path, page=2, page_size=2)
    assert second["total"] == len(listed)
    assert all(chunk["boxes"] == [] for chunk in listed)
    assert second["items"] == listed[2:4]
    last_first = user.get(path, sort_order="desc", page_size=1)["items"]
    assert last_first == listed[-1:]
    user.refused(InvalidPagination, "GET", path, params={"sort_by": "content"})


@pytest.mark.skipif(not is_ready(), reason="no text recognition here: agentex[ocr] and its language data")
def test_passage_of_a_scan_says_where_it_stands_in_copies_too(user: Api, kb: str):
    document_id = user.ingest(kb, "scan.pdf", scanned_pdf(pages=2))
    listed = chunks(user, kb, document_id)
    boxes = [box for chunk in listed for box in chunk["boxes"]]
    assert {box["page"] for box in boxes} == {1, 2}
    text = {chunk["char_start"]: chunk["content"] for chunk in listed}
    first = boxes[0]
    assert text[0][first["char_start"] : first["char_end"]] == "The backup runs every night at two o'clock."
    # Of 1500 by 560 pixels its words begin at (62, 66) and end at (985, 113).
    sides = [first[name] for name in ("left", "top", "width", "height")]
    assert sides == pytest.approx([62 / 1500, 66 / 560, 923 / 1500, 47 / 560], abs=0.01)
    # An edit leaves them, as it leaves the page.
    edited = user.put(path_of(listed[0]), {"version": 1, "content": "The backup runs at noon."})
    assert edited["boxes"] == listed[0]["boxes"]
    copied = user.copy_kb(kb)
    (row,) = user.get(f"/knowledge-bases/{copied}/documents")["items"]
    assert [chunk["boxes"] for chunk in chunks(user, copied, row["id"])] == [chunk["boxes"] for chunk in listed]


@one_shape
def test_document_that_failed_has_no_chunks(user: Api, kb: str):
    document_id = user.upload(kb, "empty.html", "<html><body><!-- nothing --></body></html>")
    user.wait(kb, document_id)
    assert chunks(user, kb, document_id) == []


def test_edit_is_found_by_its_new_words_and_meaning_at_once(user: Api, kb: str):
    document_id = user.ingest(kb, "animals.md", TEXT)
    first = chunks(user, kb, document_id)[0]
    content = "The quokka smiles at every photographer on Rottnest Island."
    edited = user.put(path_of(first), {"version": 1, "content": content})
    assert (edited["content"], edited["version"], edited["edited"]) == (content, 2, True)
    assert 0 < edited["token_count"] < first["token_count"]
    assert {name: edited[name] for name in ("id", "position", "char_start", "heading_path")} == {
        name: first[name] for name in ("id", "position", "char_start", "heading_path")
    }
    assert user.get(path_of(first)) == edited
    (best, *_) = user.search(kb, "quokka photographer", top_k=5)
    assert (best["chunk_id"], best["content"]) == (first["id"], content)
    # By meaning alone: none of these words stands in the passage.
    assert found_ids(user, kb, "Which animal grins when someone takes pictures?")[0] == first["id"]
    assert chunks(user, kb, document_id, changed=True) == [edited]
    assert first["id"] not in {c["id"] for c in chunks(user, kb, document_id, changed=False)}


def test_edit_of_what_somebody_else_edited_is_refused(user: Api, kb: str):
    document_id = user.ingest(kb, "animals.md", TEXT)
    chunk = chunks(user, kb, document_id)[0]
    user.put(path_of(chunk), {"version": 1, "content": "The first editor's text."})
    body = {"version": 1, "content": "The second editor's text."}
    details = user.refused(Conflict, "PUT", path_of(chunk), json=body)
    assert (details["field"], details["version"]) == ("version", 2)
    assert user.get(path_of(chunk))["content"] == "The first editor's text."
    assert user.put(path_of(chunk), {**body, "version": 2})["version"] == 3


def test_of_many_edits_at_once_one_wins_and_search_shows_that_one(user: Api, kb: str):
    document_id = user.ingest(kb, "animals.md", TEXT)
    chunk = chunks(user, kb, document_id)[0]
    animals = ["aardvark", "bandicoot", "capybara", "dugong", "echidna", "fossa"]

    def edit(animal: str) -> int:
        body = {"version": 1, "content": f"Everything about the {animal}."}
        return user.request("PUT", path_of(chunk), json=body).status_code

    with ThreadPoolExecutor(len(animals)) as pool:
        codes = list(pool.map(edit, animals))
    assert sorted(codes) == [200, *[409] * (len(animals) - 1)]
    winner = animals[codes.index(200)]
    assert user.get(path_of(chunk))["content"] == f"Everything about the {winner}."
    for animal in animals:
        hits = user.search(kb, animal, top_k=50)
        by_words = [hit for hit in hits if animal in hit["content"]]
        assert bool(by_words) == (animal == winner)


@one_shape
@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"content": ""}, "content"),
        ({"content": " \n\t"}, "content"),
        ({"content": "word " * 2001}, "content"),
        ({"content": "x" * 40_000}, "content"),
        ({"content": "nul\x00"}, "content"),
        ({"content": 7}, "content"),
        ({"enabled": "perhaps"}, "enabled"),
        ({"version": 0}, "version"),
        ({"version": None}, "version"),
        ({"char_start": 3}, "char_start"),
        ({"heading_path": ["A"]}, "heading_path"),
    ],
)
def test_bad_change_is_named_and_changes_nothing(user: Api, kb: str, change: dict[str, Any], field: str):
    document_id = user.ingest(kb, "animals.md", "# A\n\nShort.")
    (before,) = chunks(user, kb, document_id)
    body = {"version": 1, **change}
    details = user.refused(InvalidRequest, "PUT", path_of(before), json=body)
    assert details["field"] == field
    assert chunks(user, kb, document_id) == [before]


def test_disabled_chunk_is_kept_but_no_search_finds_it(user: Api, kb: str):
    document_id = user.ingest(kb, "animals.md", TEXT)
    lions = [c for c in chunks(user, kb, document_id) if "狮子" in c["content"]]
    off = lions[0]
    assert off["id"] in found_ids(user, kb, "狮子 捕猎")
    changed = user.put(path_of(off), {"version": 1, "enabled": False})
    assert (changed["enabled"], changed["version"]) == (False, 1)
    assert off["id"] not in found_ids(user, kb, "狮子 捕猎")
    assert set(found_ids(user, kb, "狮子 捕猎")) >= {chunk["id"] for chunk in lions[1:]}
    assert user.get(path_of(off))["enabled"] is False
    user.put(path_of(off), {"version": 1, "enabled": True})
    assert off["id"] in found_ids(user, kb, "狮子 捕猎")
    user.delete(path_of(off))
    assert off["id"] not in found_ids(user, kb, "狮子 捕猎")
    assert user.get(path_of(off))["enabled"] is False


def test_new_revision_makes_all_chunks_anew(user: Api, kb: str):
    document_id = user.ingest(kb, "animals.md", TEXT)
    first = chunks(user, kb, document_id)[0]
    user.put(path_of(first), {"version": 1, "content": "An edited quokka."})
    assert user.ingest(kb, "animals.md", f"{TEXT}\nOne more sentence.") == document_id
    user.refused(ChunkNotFound, "GET", path_of(first))
    body = {"version": 2, "content": "Too late."}
    user.refused(ChunkNotFound, "PUT", path_of(first), json=body)
    assert not any(chunk["edited"] for chunk in chunks(user, kb, document_id))


@one_shape
def test_edited_parent_is_found_by_its_new_windows_only(user: Api):
    kb = user.create_kb(splitter="parent_child", chunk_size=500, chunk_overlap=0)
    text = "# Log\n\n" + "The ship sailed on a calm sea. " * 50 + "The keeper feeds seven cats."
    (parent,) = chunks(user, kb, user.ingest(kb, "log.md", text))
    user.put(path_of(parent), {"version": 1, "content": "A recipe for apple pie with cinnamon."})
    pie, cats = (
        user.search(kb, question, explain=True)[0]
        for question in ("How do I bake a dessert?", "Who gives food to the kittens?")
    )
    assert pie["content"] == cats["content"] == "A recipe for apple pie with cinnamon."
    assert cats["legs"]["dense"]["score"] < 0.2 < pie["legs"]["dense"]["score"]


def test_chunks_of_a_deleted_document_are_gone(user: Api, kb: str):
    document_id = user.ingest(kb, "animals.md", "# A\n\nShort.")
    (chunk,) = chunks(user, kb, document_id)
    user.delete(f"/knowledge-bases/{kb}/documents/{document_id}")
    user.refused(ChunkNotFound, "GET", path_of(chunk))
    user.refused(ChunkNotFound, "DELETE", path_of(chunk))
    listing = f"/knowledge-bases/{kb}/documents/{document_id}/chunks"
    user.refused(DocumentNotFound, "GET", listing)


def test_chunk_is_not_found_through_another_knowledge_base(user: Api, kb: str):
    (chunk,) = chunks(user, kb, user.ingest(kb, "a.md", "# A\n\nShort."))
    elsewhere = f"/knowledge-bases/{user.create_kb()}/chunks/{chunk['id']}"
    user.refused(ChunkNotFound, "GET", elsewhere)
    body = {"version": 1, "content": "Stolen."}
    user.refused(ChunkNotFound, "PUT", elsewhere, json=body)


def test_readers_of_a_public_knowledge_base_read_and_change_nothing(user: Api, other: Api):
    kb = user.create_kb(is_public=True)
    (chunk,) = chunks(user, kb, user.ingest(kb, "a.md", "# A\n\nShort."))
    assert check_success(other.request("GET", path_of(chunk))) == chunk
    body = {"version": 1, "content": "Not mine."}
    other.refused(ReadOnly, "PUT", path_of(chunk), json=body)
    other.refused(ReadOnly, "DELETE", path_of(chunk))
    assert user.get(path_of(chunk)) == chunk
