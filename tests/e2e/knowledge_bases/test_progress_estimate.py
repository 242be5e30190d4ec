"""The progress of a long document and the estimate of its remaining time."""

import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from ingestion.parsers.image.ocr import is_ready
from tests.fixtures.files.sample_files import scanned_pdf
from tests.fixtures.http.client import TERMINAL, Api, eventually
from tests.fixtures.product.server import one_shape

SHORT = "# Note\n\nThe zebra sleeps at noon.\n"
LONG = "\n\n".join(f"## Part {n}\n\n" + f"Sentence number {n} of a long text tells of a zebra. " * 5 for n in range(90))
STAGES = ("queued", "parsing", "splitting", "embedding", "done")
Row = dict[str, Any]


@pytest.fixture
def kb(user: Api) -> str:
    return user.create_kb(chunk_size=64, chunk_overlap=0)


def watch(read: Callable[[], Row], is_over: Callable[[Row], bool]) -> list[Row]:
    """What is seen until it is over, the last look included."""
    seen: list[Row] = []

    def look() -> bool:
        seen.append(read())
        return is_over(seen[-1])

    eventually(look, seconds=120, what="all is done", pause=0.02)
    return seen


def check_seconds(value: Any) -> None:
    assert type(value) is int
    assert value >= 0


def test_document_tells_its_stage_percentage_and_time_left(user: Api, kb: str):
    document_id = user.upload(kb, "long.md", LONG)
    rows = watch(lambda: user.document(kb, document_id), lambda row: row["status"] in TERMINAL)
    last = rows[-1]
    assert (last["status"], last["stage"], last["progress"]) == ("completed", "done", 100)
    assert (last["eta_seconds"], last["attempt"], last["waiting"]) == (None, 1, None)
    for before, after in pairwise(rows):
        places = [(STAGES.index(row["stage"]), row["progress"]) for row in (before, after)]
        assert places == sorted(places)
    at_work = [row for row in rows if row["status"] == "processing"]
    assert {row["attempt"] for row in at_work} == {1}
    assert any(row["eta_seconds"] is not None for row in at_work)
    for row in rows:
        if row["stage"] == "embedding" and 0 < row["progress"] < 100:
            check_seconds(row["eta_seconds"])
        else:
            # Nobody can tell yet, or any more.
            assert row["eta_seconds"] is None


@one_shape
def test_document_that_waits_or_rests_has_no_time_left(user: Api, kb: str):
    user.post(f"/knowledge-bases/{kb}/pause")
    document_id = user.upload(kb, "long.md", LONG)
    row = user.document(kb, document_id)
    assert (row["stage"], row["progress"], row["attempt"]) == ("queued", 0, 0)
    assert (row["eta_seconds"], row["ahead"]) == (None, 0)
    user.post(f"/knowledge-bases/{kb}/resume")
    path = f"/knowledge-bases/{kb}/documents/{document_id}"
    eventually(lambda: user.get(path)["eta_seconds"] is not None, what="in work", pause=0.01)
    row = user.post(f"{path}/pause")
    assert (row["status"], row["eta_seconds"]) == ("paused", None)
    user.post(f"{path}/resume")
    end = user.wait(kb, document_id)
    assert (end["status"], end["attempt"], end["eta_seconds"]) == ("completed", 1, None)


@one_shape
def test_knowledge_base_tells_when_all_is_done(user: Api, kb: str):
    base = f"/knowledge-bases/{kb}"
    user.post(f"{base}/pause")
    first = user.upload(kb, "first.md", LONG)
    # Nothing was done before: nobody knows the pace.
    assert user.get(f"{base}/progress").items() >= {"percent": 0, "eta_seconds": None}.items()
    user.post(f"{base}/documents/{first}/pause")
    user.post(f"{base}/resume")
    user.ingest(kb, "note.md", SHORT)
    user.upload(kb, "second.md", LONG + SHORT)
    user.post(f"{base}/documents/{first}/resume")
    looks = watch(lambda: user.get(f"{base}/progress"), lambda look: look["counts"] == {"completed": 3})
    assert looks[0]["counts"]["completed"] < 3
    known = [look["eta_seconds"] for look in looks[:-1] if look["eta_seconds"] is not None]
    assert known
    for seconds in known:
        check_seconds(seconds)
        # It takes seconds: what the small note took is no measure of the long ones.
        assert seconds < 100
    assert all(33 <= look["percent"] < 100 for look in looks[:-1])
    percents = [look["percent"] for look in looks]
    assert percents == sorted(percents)
    assert len(set(percents)) > 2
    assert (looks[-1]["percent"], looks[-1]["eta_seconds"]) == (100, 0)


@one_shape
def test_small_document_is_no_measure_of_a_large_one(user: Api, kb: str):
    base = f"/knowledge-bases/{kb}"
    user.ingest(kb, "note.md", "zebra")
    time.sleep(2)
    user.upload(kb, "long.md", LONG)
    looks = watch(lambda: user.get(f"{base}/progress"), lambda look: look["counts"] == {"completed": 2})
    known = [look["eta_seconds"] for look in looks[:-1] if look["eta_seconds"] is not None]
    assert known
    assert max(known) < 100


@one_shape
def test_nobody_can_tell_when_what_is_paused_will_be_done(user: Api, kb: str):
    base = f"/knowledge-bases/{kb}"
    user.ingest(kb, "note.md", SHORT)
    assert user.get(f"{base}/progress")["eta_seconds"] == 0
    user.post(f"{base}/pause")
    document_id = user.upload(kb, "next.md", SHORT + "2")
    assert user.get(f"{base}/progress")["eta_seconds"] is None
    user.post(f"{base}/documents/{document_id}/pause")
    user.post(f"{base}/resume")
    progress = user.get(f"{base}/progress")
    assert progress["counts"] == {"completed": 1, "paused": 1}
    assert progress["eta_seconds"] is None


@one_shape
def test_re_index_tells_when_it_is_done(user: Api, kb: str):
    user.ingest(kb, "note.md", SHORT)
    # So long that it is not worked on together with the note.
    user.ingest(kb, "long.md", LONG * 3)
    path = f"/knowledge-bases/{kb}/reindex"
    user.post(path, {"chunk_size": 128})
    looks = watch(lambda: user.get(path), lambda look: look["state"] == "none")
    for look in looks[:-1]:
        assert 0 <= look["percent"] <= 100
        is_known = look["documents"]["done"] > 0 and look["documents"]["left"] > 0
        assert (look["eta_seconds"] is not None) == is_known
        assert look["eta_seconds"] is None or look["eta_seconds"] >= 0
    assert any(look["eta_seconds"] is not None for look in looks)
    assert looks[-1]["eta_seconds"] is None


@one_shape
@pytest.mark.skipif(not is_ready(), reason="no text recognition here")
def test_scanned_document_tells_how_far_its_reading_is(user: Api, kb: str):
    document_id = user.upload(kb, "scan.pdf", scanned_pdf(pages=15))
    rows = watch(lambda: user.document(kb, document_id), lambda row: row["status"] in TERMINAL)
    assert rows[-1]["status"] == "completed"
    reading = [row for row in rows if row["stage"] == "parsing" and row["progress"]]
    assert reading
    for row in reading:
        assert 0 < row["progress"] < 100
        check_seconds(row["eta_seconds"])
