"""Progress of a knowledge base, once and as server-sent events."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from core.sse import SseDecoder
from tests.fixtures.http.client import Api, eventually
from tests.fixtures.product.server import Server

SHORT = "# Note\n\nThe zebra sleeps at noon.\n"
Event = tuple[str, dict[str, Any]]


@pytest.fixture
def kb(user: Api) -> str:
    return user.create_kb()


class Stream:
    """Events of a stream, read beside the test."""

    def __init__(self, response: httpx.Response) -> None:
        self.events: list[Event] = []
        self.ended = False
        self._response = response
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        decoder = SseDecoder()
        try:
            for piece in self._response.iter_raw():
                self.events += [(one.event, json.loads(one.data)) for one in decoder.feed(piece)]
        except httpx.TransportError:
            pass
        self.ended = True

    def named(self, name: str) -> list[dict[str, Any]]:
        return [data for event, data in list(self.events) if event == name]


@contextmanager
def streaming(user: Api, path: str, **options: Any) -> Iterator[Stream]:
    # A connection of its own: one that is shared is not to be closed while it is read.
    base = user.http.base_url
    with (
        httpx.Client(base_url=base, timeout=60, trust_env=False) as http,
        http.stream("GET", f"/api/v1{path}", headers={**user.headers, **options}) as response,
    ):
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        yield Stream(response)


def test_empty_knowledge_base_is_all_done(user: Api, kb: str):
    assert user.get(f"/knowledge-bases/{kb}/progress") == {
        "total": 0,
        "counts": {},
        "percent": 100,
        "eta_seconds": 0,
        "paused": False,
        "changed_at": None,
    }


def test_progress_counts_by_status(user: Api, kb: str):
    user.ingest(kb, "good.md", SHORT)
    bad = user.upload(kb, "bad.pdf", b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog")
    user.wait(kb, bad)
    user.post(f"/knowledge-bases/{kb}/pause")
    user.upload(kb, "later.md", SHORT)
    progress = user.get(f"/knowledge-bases/{kb}/progress")
    assert progress["counts"] == {"completed": 1, "failed": 1, "pending": 1}
    assert (progress["total"], progress["percent"]) == (3, 66)
    assert progress["changed_at"]


def test_stream_begins_with_a_snapshot_and_tells_each_change(user: Api, kb: str):
    user.post(f"/knowledge-bases/{kb}/pause")
    waiting = user.upload(kb, "waiting.md", SHORT)
    with streaming(user, f"/knowledge-bases/{kb}/progress/stream") as stream:
        snapshot = eventually(lambda: stream.named("snapshot"))[0]
        assert [row["id"] for row in snapshot["documents"]] == [waiting]
        assert snapshot["documents"][0]["ahead"] == 0
        assert snapshot["progress"]["counts"] == {"pending": 1}
        second = user.upload(kb, "second.md", SHORT + "2")
        eventually(lambda: any(row["id"] == second for row in stream.named("document")), seconds=60)
        user.post(f"/knowledge-bases/{kb}/resume")

        def both_done() -> bool:
            done = {row["id"] for row in stream.named("document") if row["status"] == "completed"}
            return done >= {waiting, second}

        eventually(both_done, seconds=60)
        eventually(lambda: stream.named("progress")[-1]["percent"] == 100, seconds=60)
        assert not stream.ended
        user.delete(f"/knowledge-bases/{kb}")
        eventually(lambda: stream.named("end") == [{"reason": "access"}], seconds=60)


def test_stream_tells_of_each_document_that_is_deleted(user: Api, kb: str):
    ids = [user.ingest(kb, f"{number}.md", SHORT + str(number)) for number in range(6)]
    with streaming(user, f"/knowledge-bases/{kb}/progress/stream") as stream:
        eventually(lambda: stream.named("snapshot"))
        for document_id in ids:
            user.delete(f"/knowledge-bases/{kb}/documents/{document_id}")
            removed = {"id": document_id}
            eventually(lambda: removed in stream.named("removed"), seconds=30)  # noqa: B023 - called within the round
        assert [one["id"] for one in stream.named("removed")] == ids
        eventually(lambda: stream.named("progress")[-1]["total"] == 0)


def test_stream_that_is_to_end_when_all_is_quiet_does(user: Api, kb: str):
    ids = [user.upload(kb, f"{number}.md", SHORT + str(number)) for number in range(3)]
    path = f"/knowledge-bases/{kb}/progress?until_quiet=true"
    with streaming(user, path, Accept="text/event-stream") as stream:
        eventually(lambda: stream.ended, seconds=90)
    assert stream.events[0][0] == "snapshot"
    assert stream.events[-1] == ("end", {"reason": "quiet"})
    assert all(user.document(kb, document_id)["status"] == "completed" for document_id in ids)


def test_stream_that_is_to_end_when_all_is_quiet_does_where_all_is_paused(user: Api, kb: str):
    user.post(f"/knowledge-bases/{kb}/pause")
    user.upload(kb, "waiting.md", SHORT)
    path = f"/knowledge-bases/{kb}/progress/stream?until_quiet=true"
    with streaming(user, path) as stream:
        eventually(lambda: stream.ended, seconds=30)
    (snapshot,) = stream.named("snapshot")
    assert (snapshot["progress"]["paused"], snapshot["progress"]["counts"]) == (
        True,
        {"pending": 1},
    )
    assert stream.events[-1] == ("end", {"reason": "quiet"})


def test_many_may_look_at_once_and_the_api_goes_on(user: Api, kb: str, server: Server):
    user.post(f"/knowledge-bases/{kb}/pause")
    path = f"/knowledge-bases/{kb}/progress/stream"
    with streaming(user, path) as first, streaming(user, path) as second:
        document_id = user.upload(kb, "a.md", SHORT)
        for stream in (first, second):
            eventually(
                lambda: any(row["id"] == document_id for row in stream.named("document")),  # noqa: B023 - called within the round
                seconds=60,
            )
    assert server.is_ready()


@pytest.mark.parametrize("how", ["public", "shared"])
def test_stream_ends_for_who_lost_access(user: Api, kb: str, other: Api, how: str):
    def give(is_given: bool) -> None:
        if how == "public":
            user.put(f"/knowledge-bases/{kb}", {"is_public": is_given})
            return
        shares = [{"username": other.name, "access": "read"}] if is_given else []
        user.put(f"/knowledge-bases/{kb}/shares", {"shares": shares})

    give(True)
    path = f"/knowledge-bases/{kb}/progress/stream"
    with streaming(other, path) as stream:
        eventually(lambda: stream.named("snapshot"))
        give(False)
        # Sooner than accounts are asked for again, which is every ten seconds.
        eventually(lambda: stream.named("end") == [{"reason": "access"}], seconds=8)
        eventually(lambda: stream.ended)
