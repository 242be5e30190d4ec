"""Acknowledged uploads survive: parts killed, frozen and emptied at any moment."""

import os
import random
import signal
import time
from collections.abc import Iterator
from threading import Thread
from typing import Any

import httpx
import pytest
from redis import Redis

from core.errors.server import EngineUnavailable, VectorIndexUnavailable
from tests.fixtures.http.client import Api, eventually
from tests.fixtures.product.leftover_data import check_consistent, stored_files
from tests.fixtures.product.server import Server

pytestmark = pytest.mark.timeout(300)
DEADLINE = 120
# Embedding is no part of what is tested, and takes long.
SMALL = {"chunk_size": 64, "chunk_overlap": 0}


def text(number: int, *, parts: int = 12) -> str:
    """A document of several passages that only it has, one for each part."""
    sections = [f"## Part {n}\n\n" + f"Animal {number} sleeps in house {n}. " * 6 for n in range(parts)]
    return f"# Document {number}\n\n" + "\n\n".join(sections)


@pytest.fixture
def healthy(server: Server) -> Iterator[Server]:
    """The product, which must be well again after the test."""
    server.wait_ready()
    yield server
    server.wait_ready()


@pytest.fixture
def healthy_embedded(embedded: Server) -> Iterator[Server]:
    embedded.wait_ready()
    yield embedded
    embedded.wait_ready()


def check_all_completed(server: Server, caller: Api, kb_id: str, ids: list[str]) -> None:
    """Every acknowledged document is indexed exactly once, and nothing else is there."""
    deadline = time.monotonic() + DEADLINE
    for document_id in ids:
        row = caller.wait(kb_id, document_id, seconds=max(1, deadline - time.monotonic()))
        assert row["status"] == "completed", row
        assert row["chunk_count"] > 0
    check_consistent(server, kb_id)
    assert set(ids) == {row["id"] for row in server.sql(
        "SELECT id FROM document WHERE knowledge_base_id = :kb", kb=kb_id)}  # fmt: skip
    assert len(stored_files(server, kb_id) & server.files) == len(ids)
    assert server.points(kb_id=kb_id) == server.count("chunk", knowledge_base_id=kb_id)


def redis_of(server: Server) -> Redis:
    return Redis.from_url(server.settings.effective_redis_url)


def test_killed_worker_loses_and_doubles_nothing(healthy: Server):
    caller = healthy.person()
    kb_id = caller.create_kb(**SMALL)
    ids = [caller.upload(kb_id, f"{number}.md", text(number)) for number in range(10)]
    for _ in range(2):
        eventually(lambda: "worker" in healthy.parts and healthy.parts["worker"]["pid"])
        # Any moment will do: that is what is tested.
        time.sleep(random.uniform(0, 0.8))
        healthy.kill("worker")
        eventually(lambda: healthy.parts["worker"]["state"] == "ready", seconds=DEADLINE)
    check_all_completed(healthy, caller, kb_id, ids)


def test_killed_api_keeps_what_it_acknowledged(healthy: Server):
    caller = healthy.person()
    kb_id = caller.create_kb(**SMALL)
    acknowledged: list[str] = []

    def send() -> None:
        for number in range(200):
            try:
                acknowledged.append(caller.upload(kb_id, f"{number}.md", text(number, parts=2)))
            except (httpx.HTTPError, AssertionError):
                return

    sender = Thread(target=send)
    sender.start()
    eventually(lambda: len(acknowledged) > 2)
    time.sleep(random.uniform(0, 0.2))
    healthy.kill("api")
    sender.join()
    healthy.wait_ready()
    rows = healthy.sql("SELECT id FROM document WHERE knowledge_base_id = :kb", kb=kb_id)
    assert set(acknowledged) <= {row["id"] for row in rows}
    # One whose answer was cut off may have been committed.
    assert len(rows) <= len(acknowledged) + 1
    check_all_completed(healthy, caller, kb_id, [row["id"] for row in rows])


def test_killed_engine_loses_nothing_and_no_search_is_silently_empty(healthy_embedded: Server):
    server = healthy_embedded
    caller = server.person()
    kb_id = caller.create_kb(**SMALL)
    first = caller.ingest(kb_id, "first.md", text(0))
    doomed = caller.ingest(kb_id, "doomed.md", text(99))
    ids = [caller.upload(kb_id, f"{number}.md", text(number)) for number in range(1, 6)]
    server.kill("engine")
    caller.delete(f"/knowledge-bases/{kb_id}/documents/{doomed}")
    refusals = 0
    deadline = time.monotonic() + DEADLINE
    while server.parts["engine"]["state"] != "ready" and time.monotonic() < deadline:
        body = {"query": "animal house"}
        answer = caller.request("POST", f"/knowledge-bases/{kb_id}/search", json=body)
        if answer.status_code == 200:
            assert answer.json()["data"]["results"]
        else:
            assert answer.json()["code"] in {
                EngineUnavailable.code,
                VectorIndexUnavailable.code,
            }
            refusals += 1
    eventually(lambda: server.count("document", id=doomed) == 0, seconds=DEADLINE)
    assert server.points(document_id=doomed) == 0
    check_all_completed(server, caller, kb_id, [first, *ids])
    assert caller.search(kb_id, "animal house")


def test_emptied_redis_loses_nothing(healthy_embedded: Server):
    server = healthy_embedded
    caller = server.person()
    kb_id = caller.create_kb(**SMALL)
    doomed = caller.ingest(kb_id, "doomed.md", text(9, parts=1))
    with server.frozen("worker"):
        ids = [caller.upload(kb_id, f"{number}.md", text(number, parts=3)) for number in range(6)]
        caller.delete(f"/knowledge-bases/{kb_id}/documents/{doomed}")
        with redis_of(server) as redis:
            assert redis.zcard("agentex:jobs") > 0
            redis.flushall()
    eventually(lambda: server.count("document", id=doomed) == 0, seconds=DEADLINE)
    check_all_completed(server, caller, kb_id, ids)


def test_upload_is_taken_while_redis_is_frozen_and_processed_later(healthy_embedded: Server):
    server = healthy_embedded
    caller = server.person()
    kb_id = caller.create_kb(**SMALL)
    doomed = caller.ingest(kb_id, "doomed.md", text(9, parts=1))
    with server.frozen("redis"):
        started = time.monotonic()
        document_id = caller.upload(kb_id, "a.md", text(1, parts=2))
        # A request waits for Redis for a second and a half at most; the machine may be busy.
        assert time.monotonic() - started < 5
        caller.delete(f"/knowledge-bases/{kb_id}/documents/{doomed}")
        assert server.count("outbox_job") > 0
    eventually(lambda: server.count("document", id=doomed) == 0, seconds=DEADLINE)
    check_all_completed(server, caller, kb_id, [document_id])
    eventually(lambda: server.count("outbox_job") == 0, what="the outbox is empty")


def test_upload_is_taken_while_redis_is_gone_and_processed_later(healthy_embedded: Server):
    server = healthy_embedded
    caller = server.person()
    kb_id = caller.create_kb(**SMALL)
    os.kill(server.parts["redis"]["pid"], signal.SIGKILL)
    ids = [caller.upload(kb_id, f"{number}.md", text(number, parts=2)) for number in range(3)]
    check_all_completed(server, caller, kb_id, ids)


def test_job_of_a_worker_that_died_before_its_lease_is_started_again(healthy: Server):
    caller = healthy.person()
    kb_id = caller.create_kb(**SMALL)
    document_id = caller.ingest(kb_id, "a.md", text(1, parts=1))
    with healthy.frozen("worker"), redis_of(healthy) as redis:
        caller.delete(f"/knowledge-bases/{kb_id}/documents/{document_id}")
        key = f"document.erase:{document_id}"
        assert redis.zscore("agentex:jobs", key) is not None
        # What ARQ leaves behind when its worker is killed right after it took the job.
        redis.set(f"arq:in-progress:{key}", "1", px=3_600_000)
    eventually(lambda: healthy.count("document", id=document_id) == 0, seconds=DEADLINE)
    assert healthy.points(document_id=document_id) == 0


def test_worker_frozen_beyond_its_lease_and_woken_again_does_no_harm(healthy_embedded: Server):
    server = healthy_embedded
    caller = server.person()
    kb_id = caller.create_kb(**SMALL)
    ids = [caller.upload(kb_id, f"{number}.md", text(number, parts=80)) for number in range(3)]
    rows = f"/knowledge-bases/{kb_id}/documents"
    eventually(lambda: caller.get(rows, status="processing")["items"], pause=0.01)
    with server.frozen("worker"):
        query = "SELECT count(*) AS n FROM document WHERE lease_until > :now AND knowledge_base_id = :kb"

        def leases_ended() -> bool:
            now: Any = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime())
            return server.sql(query, now=now, kb=kb_id)[0]["n"] == 0

        eventually(leases_ended, seconds=20)
    check_all_completed(server, caller, kb_id, ids)
